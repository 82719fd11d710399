import type { Db, IdempotencyKeyRow, SqliteDatabase } from '../storage/index.ts';
import type { AuditRecord, Batch, BatchStore, CounterState, Head, Maintain } from './entry.ts';
import { KeptDecisions } from './kept-decisions.ts';

const COLUMNS = [
  'seq',
  'id',
  'type',
  'timestamp',
  'agent_id',
  'user_id',
  'action',
  'resource',
  'result',
  'reason',
  'duration_ms',
  'tokens_cost',
  'parameters',
  'ip',
  'user_agent',
  'delegation_ids',
  'decided',
];

/** Rows per insert statement. One statement for eight rows costs a quarter less per row than eight statements. */
const ROWS_AT_ONCE = 8;

/** Batches on SQLite: prepared statements on the writer's connection, without a query builder. */
export class SqliteBatchStore implements BatchStore {
  readonly #db: SqliteDatabase;
  readonly #kept: KeptDecisions;
  readonly #sql;

  constructor(db: SqliteDatabase) {
    this.#db = db;
    this.#kept = new KeptDecisions(db);
    const p = db.prefix;
    const row = `(${COLUMNS.map((c) => (c === 'type' ? "'audit'" : '?')).join(',')})`;
    const insert = (rows: number): string =>
      `insert into ${p}stream_events (${COLUMNS.join(',')}) values ${Array(rows).fill(row).join(',')}`;
    this.#sql = {
      begin: 'begin immediate',
      head: `select seq, epoch, clock, writer from ${p}head where id = 1`,
      one: insert(1),
      many: insert(ROWS_AT_ONCE),
      advance: `update ${p}head set seq = ?, clock = ?, writer = ? where id = 1`,
      counters: `select key, hour, used from ${p}counters where key in (select value from json_each(?))`,
      count: `insert into ${p}counters (key, hour, used) values (?, ?, ?)
        on conflict (key) do update set hour = excluded.hour, used = excluded.used`,
      kept: `select scope, part, fingerprint, kind, answer, created_at, expires_at from ${p}idempotency_keys
        where scope in (select value from json_each(?)) and expires_at > ?`,
      commit: 'commit',
      rollback: 'rollback',
    };
  }

  begin(): Head {
    const { writer, deferredSync } = this.#db;
    deferredSync.defer();
    writer.prepare(this.#sql.begin).run([]);
    const row = writer.prepare(this.#sql.head).raw([])[0];
    if (!row) throw new Error('The head row of the ledger is missing.');
    return { seq: row[0] as number, epoch: row[1] as number, clock: row[2] as number, writer: row[3] as string };
  }

  counters(keys: readonly string[]): CounterState[] {
    return this.#db.writer.prepare(this.#sql.counters).all([JSON.stringify(keys)]) as unknown as CounterState[];
  }

  kept(scopes: readonly string[], now: number, losses: number): IdempotencyKeyRow[] {
    const rows = this.#db.writer.prepare(this.#sql.kept).all([JSON.stringify(scopes), now]);
    return [...(rows as unknown as IdempotencyKeyRow[]), ...this.#kept.find(scopes, now, losses)];
  }

  keptFor(_: Db, scope: string, now: number, losses: number): IdempotencyKeyRow[] {
    return this.kept([scope], now, losses);
  }

  keptUpkeep(maintain: Maintain, now: number, losses: number): Promise<void> {
    return this.#kept.upkeep(maintain, now, losses);
  }

  commit(batch: Batch): Promise<void> | undefined {
    const { writer, deferredSync } = this.#db;
    const { records, timestamp } = batch;
    const many = writer.prepare(this.#sql.many);
    let seq = batch.firstSeq;
    let at = 0;
    for (; at + ROWS_AT_ONCE <= records.length; at += ROWS_AT_ONCE) {
      const values: (string | number | null)[] = [];
      for (let i = 0; i < ROWS_AT_ONCE; i++) pushRow(values, seq++, timestamp, records[at + i] as AuditRecord);
      many.run(values);
    }
    const one = writer.prepare(this.#sql.one);
    for (; at < records.length; at++) {
      const values: (string | number | null)[] = [];
      pushRow(values, seq++, timestamp, records[at] as AuditRecord);
      one.run(values);
    }
    if (batch.counters.length > 0) {
      const count = writer.prepare(this.#sql.count);
      for (const c of batch.counters) count.run([c.key, c.hour, c.used]);
    }
    if (batch.kept.length > 0) this.#kept.insert(batch.kept);
    writer.prepare(this.#sql.advance).run([batch.lastSeq, timestamp, batch.writer]);
    writer.prepare(this.#sql.commit).run([]);
    this.#kept.committed();
    deferredSync.restore();
    return deferredSync.durable();
  }

  db(): Db {
    // The writer's Kysely uses the connection on which the batch began.
    return this.#db.write;
  }

  rollback(): void {
    const { writer, deferredSync } = this.#db;
    this.#kept.rolledBack();
    // After an I/O error SQLite has already rolled back; a second rollback fails and changes nothing.
    try {
      writer.prepare(this.#sql.rollback).run([]);
    } catch {}
    // After a failed sync the connection is closed.
    try {
      deferredSync.restore();
    } catch {}
  }
}

function pushRow(values: (string | number | null)[], seq: number, timestamp: number, r: AuditRecord): void {
  values.push(
    seq,
    r.id,
    timestamp,
    r.agentId,
    r.userId,
    r.action,
    r.resource,
    r.result,
    r.reason,
    r.durationMs,
    r.tokensCost,
    r.parameters,
    r.ip,
    r.userAgent,
    r.delegationIds,
    r.decided,
  );
}
