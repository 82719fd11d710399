import { createHash } from 'node:crypto';
import { changedPolicies, effectivePermissions, readChains } from '../../../authorization/permissions/index.ts';
import type { Id } from '../../../kernel/ids.ts';
import { defineState, type Platform } from '../../../platform.ts';

type Parts = Pick<Platform, 'clock' | 'database' | 'ledger'>;

const NONE: ReadonlySet<Id<'agent'>> = new Set();

/** What an agent may do, as its clients know it. */
interface Known {
  /** The agent and all agents above it in its chains. */
  readonly ids: readonly Id<'agent'>[];
  readonly hash: string;
}

/**
 * The permissions of the agents whose clients have an open stream. Lists are cut by them, so the clients are notified
 * when they change, on every instance.
 */
export class PermittedLists {
  readonly #parts: Parts;
  readonly #known = new Map<Id<'agent'>, Known>();
  /** The epoch after which changes have not been looked at. */
  #epoch: number | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Remembers what an agent may do now. Later changes are reported. */
  async opened(agent: Id<'agent'>): Promise<void> {
    if (this.#known.has(agent)) return;
    const epoch = await this.#parts.ledger.epoch.get();
    this.#known.set(agent, await this.#read(agent));
    this.#epoch ??= epoch;
  }

  /** Returns those of these agents whose permissions have changed since the last call. Forgets all other agents. */
  async takeChanged(agents: ReadonlySet<Id<'agent'>>): Promise<Id<'agent'>[]> {
    for (const agent of this.#known.keys()) if (!agents.has(agent)) this.#known.delete(agent);
    if (agents.size === 0) {
      this.#epoch = undefined;
      return [];
    }
    const epoch = await this.#parts.ledger.epoch.get();
    const before = this.#epoch ?? epoch;
    const touched = epoch === before ? NONE : await changedPolicies(this.#parts.database.read, before);
    const changed: Id<'agent'>[] = [];
    for (const agent of agents) {
      const known = this.#known.get(agent);
      if (known && !known.ids.some((id) => touched.has(id))) continue;
      const now = await this.#read(agent);
      this.#known.set(agent, now);
      // A stream may have opened while the last call was made, which then has forgotten the agent.
      if (known?.hash !== now.hash) changed.push(agent);
    }
    this.#epoch = epoch;
    return changed;
  }

  async #read(agent: Id<'agent'>): Promise<Known> {
    const chains = await readChains(this.#parts.database.read, agent);
    const { permissions } = effectivePermissions(chains, this.#parts.clock.now());
    const held = permissions.map(({ source: _source, ...permission }) => permission);
    return { ids: chains.ids, hash: createHash('sha256').update(JSON.stringify(held)).digest('base64url') };
  }
}

export const permittedLists = defineState((platform) => new PermittedLists(platform));
