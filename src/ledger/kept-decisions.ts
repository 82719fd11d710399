import { sql } from 'kysely';
import { chunk } from '../kernel/chunk.ts';
import type { Database, IdempotencyKeyRow, SqliteDatabase } from '../storage/index.ts';
import type { Maintain } from './entry.ts';
import { KEPT_MS } from './kept-answers.ts';
import { movePosition, readPosition, Superseded } from './position.ts';

/** Characters of a scope in the index: 60 bits, so that hardly any row of another scope is read. */
const KEY_CHARS = 10;
const keyOf = (scope: string): string => scope.slice(0, KEY_CHARS);
/** Its position is the newest row that is indexed. */
const PROJECTION = 'kept_decisions';
const INDEXED_AT_ONCE = 32_768;
/** Rows that one transaction of upkeep deletes. Decisions wait for it. */
const SLICE = 256;
/** Rows that one run of upkeep deletes. */
const DELETED_AT_ONCE = 10_000;

/** Rows per insert statement. */
const ROWS_AT_ONCE = 8;

/** Ids of rows by scope. */
type Ids = Map<string, number[]>;

/**
 * On SQLite, the decisions of requests with an `Idempotency-Key`. A decision is appended to the table in its batch. The
 * scopes of the newest rows are in memory; upkeep adds them to the index in the order of the index, which writes a
 * page for many rows instead of one for each.
 *
 * The memory is read from the table and never has more than the table has: `find` first reads the rows that other
 * processes have appended. It and `insert` are called in one transaction of the writer.
 */
export class KeptDecisions {
  readonly #db: SqliteDatabase;
  readonly #indexedAtOnce: number;
  readonly #sql;
  /** Ids of the newest rows, by scope. */
  #recent: Ids = new Map();
  /** Ids of rows that are being indexed. Together the two have every row after `#indexed` up to `#last`. */
  #beingIndexed: Ids = new Map();
  #indexed = 0;
  #last = 0;
  /** Whether the memory is read from the beginning, when the next transaction reads it. */
  #isOutdated = true;
  /** Number of detected losses of the ledger at which the memory was read. */
  #losses = 0;
  #inserted: readonly IdempotencyKeyRow[] = [];

  /** @param indexedAtOnce number of rows that are in memory before they are indexed */
  constructor(db: SqliteDatabase, indexedAtOnce = INDEXED_AT_ONCE) {
    this.#db = db;
    this.#indexedAtOnce = indexedAtOnce;
    const p = db.prefix;
    const columns = `scope, part, fingerprint, case when answer is null then 'gone' else 'decision' end as kind, answer,
      expires_at - ${KEPT_MS} as created_at, expires_at`;
    const insert = (rows: number): string =>
      `insert into ${p}kept_decisions (id, scope, part, fingerprint, answer, expires_at)
        values ${Array(rows).fill('(?, ?, ?, ?, ?, ?)').join()}`;
    this.#sql = {
      upto: `select upto from ${p}projections where name = '${PROJECTION}'`,
      appended: `select id, scope from ${p}kept_decisions where id > ? order by id`,
      recent: `select ${columns} from ${p}kept_decisions
        where id in (select value from json_each(?)) and expires_at > ?`,
      // `cross join`: the index is read first.
      indexed: `select ${columns} from ${p}kept_decision_keys as i cross join ${p}kept_decisions as k on k.id = i.id
        where i.key in (select substr(value, 1, ${KEY_CHARS}) from json_each(?)) and expires_at > ?`,
      // Each value is a key with an id. Keys have only characters of one byte.
      index: `insert or ignore into ${p}kept_decision_keys (key, id)
        select substr(value, 1, ${KEY_CHARS}), cast(substr(value, ${KEY_CHARS + 1}) as integer)
        from json_each(?) order by value`,
      one: insert(1),
      many: insert(ROWS_AT_ONCE),
    };
  }

  /** Returns the rows of these scopes. `losses`: number of detected losses of the ledger. */
  find(scopes: readonly string[], now: number, losses: number): IdempotencyKeyRow[] {
    this.#read(losses);
    const ids = [this.#beingIndexed, this.#recent].flatMap((all) => scopes.flatMap((scope) => all.get(scope) ?? []));
    const rows = this.#indexed > 0 ? this.#db.writer.prepare(this.#sql.indexed).all([JSON.stringify(scopes), now]) : [];
    if (ids.length > 0) rows.push(...this.#db.writer.prepare(this.#sql.recent).all([JSON.stringify(ids), now]));
    return (rows as unknown as IdempotencyKeyRow[]).filter(({ scope }) => scopes.includes(scope));
  }

  /** Appends rows in the transaction of `find`. `committed` or `rolledBack` follows. */
  insert(rows: readonly IdempotencyKeyRow[]): void {
    this.#inserted = rows;
    let id = this.#last;
    for (let at = 0; at < rows.length; ) {
      const count = rows.length - at < ROWS_AT_ONCE ? 1 : ROWS_AT_ONCE;
      const values: (string | number | null)[] = [];
      for (const end = at + count; at < end; at++) {
        const row = rows[at] as IdempotencyKeyRow;
        values.push(++id, row.scope, row.part, row.fingerprint, row.answer, row.expires_at);
      }
      this.#db.writer.prepare(count === 1 ? this.#sql.one : this.#sql.many).run(values);
    }
  }

  committed(): void {
    for (const { scope } of this.#inserted) this.#remember(++this.#last, scope);
    this.#inserted = [];
  }

  rolledBack(): void {
    this.#inserted = [];
  }

  /** Indexes rows if there are many, and deletes those that have expired. */
  async upkeep(maintain: Maintain, now: number, losses: number): Promise<void> {
    const { read } = this.#db;
    const oldest = await read
      .selectFrom('kept_decisions')
      .select(['id', 'expires_at'])
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    if (!oldest) return;
    const newest = await read
      .selectFrom('kept_decisions')
      .select('id')
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    const indexed = (await readPosition(read, PROJECTION)) ?? 0;
    // Another process has indexed rows, which need not stay in memory.
    if (indexed > this.#indexed) this.#isOutdated = true;
    const isExpired = oldest.expires_at <= now;
    const missing = (newest?.id ?? 0) - indexed;
    if (missing >= this.#indexedAtOnce || (isExpired && oldest.id > indexed)) await this.#index(maintain, losses);
    if (isExpired) await this.#deleteExpired(maintain, now);
  }

  /** Newest row that is indexed in the database. */
  #position(): number {
    return Number(this.#db.writer.prepare(this.#sql.upto).raw([])[0]?.[0] ?? 0);
  }

  /** Reads what has been appended since the last call. */
  #read(losses: number): void {
    const { writer } = this.#db;
    if (this.#isOutdated || losses !== this.#losses) {
      this.#isOutdated = false;
      this.#recent = new Map();
      this.#beingIndexed = new Map();
      this.#losses = losses;
      this.#indexed = this.#position();
      this.#last = this.#indexed;
    }
    for (const [id, scope] of writer.prepare(this.#sql.appended).raw([this.#last])) {
      this.#last = Number(id);
      this.#remember(this.#last, String(scope));
    }
  }

  #remember(id: number, scope: string): void {
    const ids = this.#recent.get(scope);
    if (ids) ids.push(id);
    else this.#recent.set(scope, [id]);
  }

  /** Another process may do the same at the same time. The one that is slower stops, and reads the memory again. */
  async #index(maintain: Maintain, losses: number): Promise<void> {
    const { upto, indexed, slices } = await maintain(async () => {
      this.#read(losses);
      this.#beingIndexed = this.#recent;
      this.#recent = new Map();
      return { upto: this.#last, indexed: this.#indexed, slices: slicesOf(this.#beingIndexed) };
    });
    try {
      for (const keys of slices)
        await maintain(async () => {
          if (this.#position() !== indexed) throw new Superseded();
          this.#db.writer.prepare(this.#sql.index).run([JSON.stringify(keys)]);
        });
      await maintain((db) => movePosition(db, [PROJECTION], indexed, upto));
      if (this.#indexed !== indexed) return;
      this.#indexed = upto;
      this.#beingIndexed = new Map();
    } catch (error) {
      this.#isOutdated = true;
      if (!(error instanceof Superseded)) throw error;
    }
  }

  async #deleteExpired(maintain: Maintain, now: number): Promise<void> {
    const rows = await this.#db.read
      .selectFrom('kept_decisions')
      .select(['id', 'scope', 'expires_at'])
      .where('id', '<=', (await readPosition(this.#db.read, PROJECTION)) ?? 0)
      .orderBy('id')
      .limit(DELETED_AT_ONCE)
      .execute();
    const alive = rows.findIndex(({ expires_at }) => expires_at > now);
    const expired = (alive === -1 ? rows : rows.slice(0, alive)).map(({ id, scope }) => ({ id, key: keyOf(scope) }));
    expired.sort((a, b) => (a.key < b.key ? -1 : 1));
    for (const some of chunk(expired, SLICE)) {
      const ids = some.map(({ id }) => id);
      await maintain(async (db) => {
        await db
          .deleteFrom('kept_decision_keys')
          .where(
            'key',
            'in',
            some.map(({ key }) => key),
          )
          .where('id', 'in', ids)
          .execute();
        await db.deleteFrom('kept_decisions').where('id', 'in', ids).execute();
      });
    }
  }
}

/** Rows of the index, each a key with an id, in slices of neighbouring keys: those with the same first character. */
function slicesOf(ids: Ids): Iterable<string[]> {
  const slices = new Map<string, string[]>();
  for (const [scope, own] of ids) {
    const first = scope.charAt(0);
    let slice = slices.get(first);
    if (!slice) slices.set(first, (slice = []));
    for (const id of own) slice.push(`${keyOf(scope)}${id}`);
  }
  return slices.values();
}

/** Moves the decisions of a restored backup to where the ledger looks for them on this database. */
export async function placeKeptDecisions({ dialect, prefix, write }: Database): Promise<void> {
  if (dialect === 'sqlite') return;
  const [from, to] = [sql.table(`${prefix}kept_decisions`), sql.table(`${prefix}idempotency_keys`)];
  await write.transaction().execute(async (db) => {
    await sql`insert into ${to} (scope, part, fingerprint, kind, answer, created_at, expires_at)
      select scope, part, fingerprint, case when answer is null then 'gone' else 'decision' end, answer,
        expires_at - ${sql.lit(KEPT_MS)}, expires_at
      from ${from} order by id on conflict do nothing`.execute(db);
    await db.deleteFrom('kept_decisions').execute();
    await db.deleteFrom('kept_decision_keys').execute();
  });
}
