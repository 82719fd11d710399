import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { SECOND_MS } from '../kernel/clock.ts';
import type { Database } from '../storage/index.ts';
import { DATABASE_TIME } from './postgres-store.ts';

/** Another instance takes over if a lease was not renewed for this time. */
const LEASE_MS = 5 * SECOND_MS;
/** A holder that works renews its lease at this interval. */
const RENEW_MS = SECOND_MS;

/** By the clock of the database server, because the clocks of instances may differ. */
const NOW = sql.raw<number>(DATABASE_TIME);

/**
 * Lets one of several instances on PostgreSQL do work that need not be done twice. An instance that has lost its lease
 * without noticing may still work for a moment, so results are stored by {@link movePosition} or a similar check. An
 * SQLite file belongs to one instance, which always holds every lease.
 */
export class Lease {
  readonly #database: Database;
  readonly #name: string;
  readonly #durationMs: number;
  readonly #holder = randomUUID();
  #renewAt = Number.NEGATIVE_INFINITY;
  #held = false;

  constructor(database: Database, name: string, durationMs: number = LEASE_MS) {
    this.#database = database;
    this.#name = name;
    this.#durationMs = durationMs;
  }

  /** Takes the lease if it is free, or renews it. Returns whether this instance holds it. */
  async hold(): Promise<boolean> {
    if (this.#held && performance.now() < this.#renewAt) return true;
    return this.#take(false);
  }

  /** Takes the lease from any holder, which notices when it renews it. */
  async seize(): Promise<void> {
    await this.#take(true);
  }

  /** Gives the lease up, so that another instance can take it immediately. */
  async release(): Promise<void> {
    if (!this.#held || this.#database.dialect === 'sqlite') return;
    this.#held = false;
    await this.#database.upkeep
      .deleteFrom('leases')
      .where('name', '=', this.#name)
      .where('holder', '=', this.#holder)
      .execute();
  }

  async #take(seize: boolean): Promise<boolean> {
    if (this.#database.dialect === 'sqlite') return true;
    const asked = performance.now();
    const taken = await this.#database.upkeep
      .insertInto('leases')
      .values({ name: this.#name, holder: this.#holder, until: sql<number>`${NOW} + ${this.#durationMs}` })
      .onConflict((oc) =>
        oc
          .column('name')
          .doUpdateSet((eb) => ({ holder: eb.ref('excluded.holder'), until: eb.ref('excluded.until') }))
          .where((eb) =>
            eb.or([
              eb.lit(seize),
              eb('leases.holder', '=', this.#holder),
              eb('leases.until', '<', NOW),
              // A clock of the server that was set back must not extend a lease.
              eb('leases.until', '>', sql<number>`${NOW} + ${this.#durationMs}`),
            ]),
          ),
      )
      .returning('holder')
      .executeTakeFirst();
    this.#held = taken !== undefined;
    this.#renewAt = asked + RENEW_MS;
    return this.#held;
  }
}
