import { SYSTEM } from '../../../access/actor.ts';
import { defineState, type Platform } from '../../../platform.ts';
import type { Db } from '../../../storage/index.ts';
import type { Hashes, Tool } from '../definitions.ts';
import type { GatewayServer } from '../servers-file.ts';
import { isPinnable, recordDefinitions } from './record-definitions.ts';

/**
 * Maximum number of changes of one server's definitions that are recorded in a minute, because a server may announce
 * new ones without limit.
 */
const MAX_RECORDED = 500;
const MINUTE_MS = 60_000;

interface Pin {
  readonly approved: string | null;
  readonly seen: string;
  readonly isBlocked: boolean;
  readonly epoch: number;
}

/** The definitions that the gate has read at one epoch. */
interface Version {
  readonly epoch: number;
  readonly losses: number;
}

/**
 * The approved definitions of all servers, as in the database. Enforcement compares hashes in memory with rows of the
 * current epoch, so that an approval on one instance applies to the next call on another.
 */
export class Pins {
  readonly #platform: Pick<Platform, 'clock' | 'database' | 'ledger'>;
  readonly #servers = new Map<string, Map<string, Pin>>();
  /** Servers whose permitted tools have changed. */
  readonly #changed = new Set<string>();
  readonly #recorded = new Map<string, { minute: number; count: number }>();
  #restarts: Map<string, number> | undefined;
  #loadedEpoch = -1;
  #version: Version = { epoch: -1, losses: 0 };

  constructor(platform: Pick<Platform, 'clock' | 'database' | 'ledger'>) {
    this.#platform = platform;
  }

  /** Returns whether the rows were read at this epoch. */
  isAt({ epoch, losses }: Version): boolean {
    return this.#version.epoch === epoch && this.#version.losses === losses;
  }

  /** Reads the changes since the last call. `version` is the epoch that is read under the lock of the ledger. */
  async load(db: Db = this.#platform.database.read, version: Version = this.#version): Promise<void> {
    if (version.losses !== this.#version.losses) {
      this.#servers.clear();
      this.#loadedEpoch = -1;
    }
    const rows = await db
      .selectFrom('gateway_pins')
      .select(['server', 'tool', 'state', 'approved_hash', 'seen_hash', 'policy_epoch'])
      .where('policy_epoch', '>', this.#loadedEpoch)
      .execute();
    for (const { server, tool, state, approved_hash, seen_hash, policy_epoch } of rows) {
      const tools = this.#servers.get(server) ?? new Map<string, Pin>();
      this.#servers.set(server, tools);
      const before = tools.get(tool);
      // A slow query may end after a later one.
      if (before && before.epoch > policy_epoch) continue;
      const pin = { approved: approved_hash, seen: seen_hash, isBlocked: state === 'blocked', epoch: policy_epoch };
      if (before && (before.approved !== pin.approved || before.isBlocked !== pin.isBlocked)) this.#changed.add(server);
      tools.set(tool, pin);
      this.#loadedEpoch = Math.max(this.#loadedEpoch, policy_epoch);
    }
    this.#version = version;
  }

  /** Returns the servers whose permitted tools have changed since the last call. */
  takeChanged(): string[] {
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed;
  }

  /** Returns the servers that were restarted on request, on another instance, since the last call. */
  async takeRestarted(): Promise<string[]> {
    const known = this.#restarts;
    const rows = await this.#platform.database.read
      .selectFrom('gateway_servers')
      .select(['name', 'restarted_at'])
      .execute();
    this.#restarts = new Map(rows.map(({ name, restarted_at }) => [name, restarted_at ?? 0]));
    if (!known) return [];
    return rows
      .filter(({ name, restarted_at }) => (restarted_at ?? 0) > (known.get(name) ?? 0))
      .map(({ name }) => name);
  }

  /** Remembers a restart by this instance. */
  restarted(name: string, at: number): void {
    this.#restarts?.set(name, at);
  }

  /**
   * Returns whether a tool with this definition may be listed and called. Without a hash, because the server cannot be
   * reached, the last known definition is used.
   */
  allows({ name, legate: { pin: mode } }: GatewayServer, tool: string, hash: string | undefined): boolean {
    if (mode === 'off') return true;
    const pin = this.#servers.get(name)?.get(tool);
    if (pin?.isBlocked) return false;
    if (mode === 'alarm') return true;
    if (!pin) return hash === undefined;
    return pin.approved !== null && pin.approved === (hash ?? pin.seen);
  }

  /**
   * Compares a list with the records, and records new and changed definitions. The first list of a server is its
   * baseline.
   */
  async listed(
    { name, legate }: GatewayServer,
    tools: readonly Tool[],
    hashes: ReadonlyMap<string, Hashes>,
  ): Promise<void> {
    if (legate.pin === 'off') return;
    await this.load();
    const pins = this.#servers.get(name);
    const listed = tools.flatMap((tool) => {
      const hash = hashes.get(tool.name)?.pin;
      return hash !== undefined && isPinnable(tool) ? [{ tool, hash }] : [];
    });
    const differing = listed.filter(({ tool, hash }) => pins?.get(tool.name)?.seen !== hash);
    if (pins && differing.length === 0) return;
    const { minute, count } = this.#recordedOf(name);
    // A tool that is not recorded yet is also withheld.
    if (pins && count >= MAX_RECORDED) return;
    this.#recorded.set(name, { minute, count: count + (pins ? differing.length : 0) });
    await this.#platform.ledger.change(SYSTEM, (change) => recordDefinitions(change, name, listed));
    await this.load();
    // A server without tools also gets a baseline.
    if (!this.#servers.has(name)) this.#servers.set(name, new Map());
  }

  #recordedOf(name: string): { minute: number; count: number } {
    const minute = Math.floor(this.#platform.clock.now() / MINUTE_MS);
    const recorded = this.#recorded.get(name);
    return recorded?.minute === minute ? recorded : { minute, count: 0 };
  }
}

export const pinsState = defineState((platform) => new Pins(platform));
