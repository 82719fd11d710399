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
  /** The epoch after which changes have not been looked at. */
  readonly epoch: number;
}

/**
 * The permissions of the agents whose clients have an open stream. Lists are cut by them, so the clients are notified
 * when they change, on every instance.
 */
export class PermittedLists {
  readonly #parts: Parts;
  readonly #known = new Map<Id<'agent'>, Known>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Remembers what an agent may do now. Later changes are reported. */
  async opened(agent: Id<'agent'>): Promise<void> {
    if (this.#known.has(agent)) return;
    const epoch = await this.#parts.ledger.epoch.get();
    this.#known.set(agent, await this.#read(agent, epoch));
  }

  /**
   * Returns those of these agents whose permissions have changed since the last call. Forgets all other agents. If it
   * fails, the next call returns them.
   */
  async takeChanged(agents: ReadonlySet<Id<'agent'>>): Promise<Id<'agent'>[]> {
    for (const agent of this.#known.keys()) if (!agents.has(agent)) this.#known.delete(agent);
    if (agents.size === 0) return [];
    const epoch = await this.#parts.ledger.epoch.get();
    const before = [...this.#known.values()].reduce((least, known) => Math.min(least, known.epoch), epoch);
    const touched = epoch === before ? NONE : await changedPolicies(this.#parts.database.read, before);
    const read: [agent: Id<'agent'>, known: Known | undefined, now: Known][] = [];
    for (const agent of agents) {
      const known = this.#known.get(agent);
      const isTouched = !known || known.ids.some((id) => touched.has(id));
      read.push([agent, known, isTouched ? await this.#read(agent, epoch) : { ...known, epoch }]);
    }
    for (const [agent, , now] of read) this.#known.set(agent, now);
    // A stream may have opened while the last call was made, which then has forgotten the agent.
    return read.filter(([, known, now]) => known?.hash !== now.hash).map(([agent]) => agent);
  }

  async #read(agent: Id<'agent'>, epoch: number): Promise<Known> {
    const chains = await readChains(this.#parts.database.read, agent);
    const { permissions } = effectivePermissions(chains, this.#parts.clock.now());
    const held = permissions.map(({ source: _source, ...permission }) => permission);
    return { ids: chains.ids, epoch, hash: createHash('sha256').update(JSON.stringify(held)).digest('base64url') };
  }
}

export const permittedLists = defineState((platform) => new PermittedLists(platform));
