import { assertStored, type Db, type IdempotencyKeyRow, type SqliteDatabase } from '../storage/index.ts';
import type { AuditRecord, Batch, BatchStore, CounterState, Head, Maintain } from './entry.ts';
import { KeptDecisions } from './kept-decisions.ts';

/** Columns of a decision with a value of its own, in the order of {@link pushOwn}. */
const OWN = [
  'id',
  'agent_id',
  'resource',
  'reason',
  'duration_ms',
  'tokens_cost',
  'parameters',
  'delegation_ids',
  'decided',
];
/** Columns that are often equal in successive decisions, in the order of {@link pushShared}. */
const SHARED = ['user_id', 'action', 'result', 'ip', 'user_agent'];

/** Rows per insert statement. One statement for eight rows costs a quarter less per row than eight statements. */
const ROWS_AT_ONCE = 8;

/**
 * Returns a statement whose parameters are the sequence of the first row, the time, and the values of the rows. Binding
 * a value costs as much as a column: with `alike`, SHARED is bound once for all rows.
 */
function insertOf(table: string, rows: number, alike: boolean): string {
  const parameters = (count: number, first: number): string[] =>
    Array.from({ length: count }, (_, i) => `?${first + i}`);
  const shared = parameters(SHARED.length, 3);
  const rest = 3 + (alike ? SHARED.length : 0);
  const width = OWN.length + (alike ? 0 : SHARED.length);
  const values = Array.from({ length: rows }, (_, row) => {
    const own = parameters(width, rest + row * width);
    return `(?1 + ${row}, ?2, 'audit', ${[...(alike ? shared : []), ...own].join(', ')})`;
  });
  return `insert into ${table} (seq, timestamp, type, ${[...SHARED, ...OWN].join(', ')}) values ${values.join(', ')}`;
}

/** Batches on SQLite: prepared statements on the writer's connection, without a query builder. */
export class SqliteBatchStore implements BatchStore {
  readonly #db: SqliteDatabase;
  readonly #kept: KeptDecisions;
  readonly #sql;

  constructor(db: SqliteDatabase) {
    this.#db = db;
    this.#kept = new KeptDecisions(db);
    const p = db.prefix;
    const table = `${p}stream_events`;
    this.#sql = {
      begin: 'begin immediate',
      head: `select seq, epoch, clock, writer from ${p}head where id = 1`,
      one: insertOf(table, 1, false),
      many: insertOf(table, ROWS_AT_ONCE, false),
      alike: insertOf(table, ROWS_AT_ONCE, true),
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
    const head = writer.prepare(this.#sql.head).first([]);
    if (!head) throw new Error('The head row of the ledger is missing.');
    return head as unknown as Head;
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
    for (let at = 0; at < records.length; ) {
      const first = records[at] as AuditRecord;
      const count = at + ROWS_AT_ONCE <= records.length ? ROWS_AT_ONCE : 1;
      const alike = count > 1 && areAlike(records, at, at + count);
      const values: Values = [batch.firstSeq + at, timestamp];
      if (alike) pushShared(values, first);
      for (const end = at + count; at < end; at++) {
        const record = records[at] as AuditRecord;
        if (!alike) pushShared(values, record);
        pushOwn(values, record);
      }
      const insert = writer.prepare(count === 1 ? this.#sql.one : alike ? this.#sql.alike : this.#sql.many);
      assertStored('stream_events', count, insert.run(values).changes);
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
    deferredSync.restore();
  }
}

type Values = (string | number | null)[];

/** Returns whether the SHARED columns of these records are equal. */
function areAlike(records: readonly AuditRecord[], from: number, before: number): boolean {
  const first = records[from] as AuditRecord;
  for (let i = from + 1; i < before; i++) {
    const r = records[i] as AuditRecord;
    if (
      r.userId !== first.userId ||
      r.action !== first.action ||
      r.result !== first.result ||
      r.ip !== first.ip ||
      r.userAgent !== first.userAgent
    )
      return false;
  }
  return true;
}

function pushShared(values: Values, r: AuditRecord): void {
  values.push(r.userId, r.action, r.result, r.ip, r.userAgent);
}

function pushOwn(values: Values, r: AuditRecord): void {
  values.push(
    r.id,
    r.agentId,
    r.resource,
    r.reason,
    r.durationMs,
    r.tokensCost,
    r.parameters,
    r.delegationIds,
    r.decided,
  );
}
