import {
  type Db,
  type IdempotencyKeyRow,
  lease,
  onConnection,
  type PostgresClient,
  type PostgresDatabase,
} from '../storage/index.ts';
import type { Batch, BatchStore, CounterState, Head } from './entry.ts';

/** Milliseconds since the epoch, by the clock of the database server. */
export const DATABASE_TIME = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint';

/**
 * Batches on PostgreSQL: two round trips each (begin and lock, write everything and commit) on a dedicated connection.
 * Commits are durable because every session sets synchronous_commit.
 */
export class PostgresBatchStore implements BatchStore {
  readonly #db: PostgresDatabase;
  readonly #sql;
  #client: PostgresClient | undefined;

  constructor(db: PostgresDatabase) {
    this.#db = db;
    const p = db.prefix;
    this.#sql = {
      head: `select seq, epoch, clock, writer, ${DATABASE_TIME} as time from ${p}head where id = 1 for update`,
      counters: `select key, hour, used from ${p}counters where key = any($1::text[])`,
      kept: `select scope, part, fingerprint, kind, answer, created_at, expires_at from ${p}idempotency_keys
        where scope = any($1::text[]) and expires_at > $2::bigint`,
      keep: `insert into ${p}idempotency_keys (scope, part, fingerprint, kind, answer, created_at, expires_at)
        select * from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
        on conflict (scope, part) do update set fingerprint = excluded.fingerprint, kind = excluded.kind,
        answer = excluded.answer, created_at = excluded.created_at, expires_at = excluded.expires_at`,
      // Not null fails the transaction if a trigger or a rule of the database has dropped a row.
      append: `with rows as (
          insert into ${p}stream_events (seq, id, type, timestamp, agent_id, user_id, action, resource, result,
            reason, duration_ms, tokens_cost, parameters, ip, user_agent, delegation_ids, decided)
          select $1::bigint + r.at - 1, r.id, 'audit', $2::bigint, r.agent_id, r.user_id, r.action, r.resource,
            r.result, r.reason, r.duration_ms, r.tokens_cost, r.parameters, r.ip, r.user_agent, r.delegation_ids,
            r.decided
          from unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
            $12::float8[], $13::float8[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[])
            with ordinality as r(id, agent_id, user_id, action, resource, result, reason, duration_ms, tokens_cost,
              parameters, ip, user_agent, delegation_ids, decided, at)
          returning seq
        ), counted as (
          insert into ${p}counters (key, hour, used) select * from unnest($19::text[], $20::bigint[], $21::bigint[])
          on conflict (key) do update set hour = excluded.hour, used = excluded.used
        )
        update ${p}head set seq = case when (select count(*) from rows) = cardinality($5::text[]) then $3::bigint end,
          clock = $2::bigint, writer = $4::text where id = 1`,
    };
  }

  async begin(): Promise<Head> {
    const client = await lease(this.#db.writePool, this.#db.session);
    this.#client = client;
    const { rows } = await this.#db.beginAndRun<Head>(client, { name: 'legate-head', text: this.#sql.head });
    const [head] = rows;
    if (!head) throw new Error('The head row of the ledger is missing.');
    return head;
  }

  async counters(keys: readonly string[]): Promise<CounterState[]> {
    return (
      await this.#connection().query<CounterState>({
        ...this.#named('legate-counters'),
        text: this.#sql.counters,
        values: [keys],
      })
    ).rows;
  }

  async kept(scopes: readonly string[], now: number): Promise<IdempotencyKeyRow[]> {
    const query = { ...this.#named('legate-kept'), text: this.#sql.kept, values: [scopes, now] };
    return (await this.#connection().query<IdempotencyKeyRow>(query)).rows;
  }

  keptFor(db: Db, scope: string, now: number): Promise<IdempotencyKeyRow[]> {
    return db
      .selectFrom('idempotency_keys')
      .selectAll()
      .where('scope', '=', scope)
      .where('expires_at', '>', now)
      .execute();
  }

  async keptUpkeep(): Promise<void> {}

  async commit(batch: Batch): Promise<void> {
    const client = this.#connection();
    const { records, counters, kept } = batch;
    if (kept.length > 0)
      await client.query({
        ...this.#named('legate-keep'),
        text: this.#sql.keep,
        values: [
          kept.map((k) => k.scope),
          kept.map((k) => k.part),
          kept.map((k) => k.fingerprint),
          kept.map((k) => k.kind),
          kept.map((k) => k.answer),
          kept.map((k) => k.created_at),
          kept.map((k) => k.expires_at),
        ],
      });
    // In one round trip, so that the head row is locked for less time.
    await this.#db.runAndCommit(client, {
      ...this.#named('legate-append'),
      text: this.#sql.append,
      values: [
        batch.firstSeq,
        batch.timestamp,
        batch.lastSeq,
        batch.writer,
        records.map((r) => r.id),
        records.map((r) => r.agentId),
        records.map((r) => r.userId),
        records.map((r) => r.action),
        records.map((r) => r.resource),
        records.map((r) => r.result),
        records.map((r) => r.reason),
        records.map((r) => r.durationMs),
        records.map((r) => r.tokensCost),
        records.map((r) => r.parameters),
        records.map((r) => r.ip),
        records.map((r) => r.userAgent),
        records.map((r) => r.delegationIds),
        records.map((r) => r.decided),
        counters.map((c) => c.key),
        counters.map((c) => c.hour),
        counters.map((c) => c.used),
      ],
    });
    client.release();
    this.#client = undefined;
  }

  db(): Db {
    return onConnection(this.#connection(), this.#db);
  }

  /** Returns the connection to the pool, or closes it if anything failed on it. */
  async rollback(): Promise<void> {
    const client = this.#client;
    if (!client) return;
    this.#client = undefined;
    try {
      await client.query('rollback');
      client.release();
    } catch (error) {
      client.release(error instanceof Error ? error : true);
    }
  }

  /** With a pooler, the next transaction may run in a session that does not know the name. */
  #named(name: string): { name?: string } {
    return this.#db.session.direct ? { name } : {};
  }

  #connection(): PostgresClient {
    if (!this.#client) throw new Error('No batch is open.');
    return this.#client;
  }
}
