import { type Db, type SqliteDatabase, selectArrays } from '../storage/index.ts';
import type { Commit } from './entry.ts';

/** Sequence numbers of a segment: 32,768. */
const SEGMENT_BITS = 15;
const SEGMENT_SIZE = 1 << SEGMENT_BITS;
const BUCKETS = 64;
/** Rows read at once when catching up; between two reads the event loop is free. */
const SLICE = 1024;
/** Between two of them when no look-up waits. */
const PAUSE_MS = 5;
/** Work between two moments in which the event loop is free. */
const SLICE_MS = 2;
const PROJECTION = 'postings';
const SOON_MS = 200;

export const RESULT_CODES: Readonly<Record<string, number>> = { allowed: 0, denied: 1, rate_limited: 2 };
/** Rows that are no decisions. */
const NO_RESULT = 3;
export const ANY_RESULT = 0b1111;

/** What rows can be looked up by. */
export type PostingKey = { readonly kind: 'agent' | 'user' | 'action' | 'result'; readonly value: string };

const SEEDS = { agent: 0x811c9dc5, user: 0x1b873593, action: 0xcc9e2d51, result: 0x85ebca6b };

/** FNV-1a over the end of the text, where ids are random. Collisions are harmless: rows are compared again when they are read. */
function hashKey(kind: PostingKey['kind'], text: string): number {
  let hash = SEEDS[kind];
  for (let i = Math.max(0, text.length - 12); i < text.length; i++)
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Pairs of numbers that only grow. */
class Bucket {
  #words = new Uint32Array(256);
  #length = 0;

  push(hash: number, place: number): void {
    if (this.#length === this.#words.length) {
      const grown = new Uint32Array(this.#words.length * 2);
      grown.set(this.#words);
      this.#words = grown;
    }
    this.#words[this.#length++] = hash;
    this.#words[this.#length++] = place;
  }

  get words(): Uint32Array {
    return this.#words.subarray(0, this.#length);
  }
}

const newBuckets = (): Bucket[] => Array.from({ length: BUCKETS }, () => new Bucket());

type ListedRow = [
  seq: number,
  agentId: string | null,
  userId: string | null,
  action: string | null,
  result: string | null,
];

interface Indexed {
  readonly agentId: string | null | undefined;
  readonly userId: string | null | undefined;
  readonly action: string | null;
  readonly result: string | null;
}

/**
 * Which rows of the ledger belong to an agent, a user, an action or a refusal, on SQLite. There an ordinary index would
 * write another page for nearly every row; these postings are kept in memory for the open segment and written once, in 64
 * pieces, when it closes. A piece is a list of (hash, offset in the segment and result): newest last.
 */
export class Postings {
  readonly #db: SqliteDatabase;
  readonly #maintain: <T>(work: (db: Db) => Promise<T>) => Promise<T>;
  /** Look-ups that wait for a catch-up. */
  #waiting = 0;
  /** Segments not written yet, the open one among them. */
  readonly #segments = new Map<number, Bucket[]>();
  /** Next sequence to be taken in; undefined before the first catch-up. */
  #next: number | undefined;
  #catchingUp: Promise<void> | undefined;
  #soon: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(db: SqliteDatabase, maintain: <T>(work: (db: Db) => Promise<T>) => Promise<T>) {
    this.#db = db;
    this.#maintain = maintain;
  }

  /** Takes a commit in. One that does not join on (another process wrote in between) is left to the next catch-up. */
  add({ firstSeq, records, events }: Commit): void {
    if (firstSeq !== this.#next || this.#catchingUp) {
      this.#catchUpSoon();
      return;
    }
    for (const r of records) this.#put(this.#next++, r);
    for (const e of events)
      this.#put(this.#next++, { agentId: e.agentId, userId: e.userId, action: null, result: null });
    if (this.#segments.size > 1) this.#catchUpSoon();
  }

  /** Upkeep that nobody waits for: begins a moment later, and when it fails the next look-up does it. */
  #catchUpSoon(): void {
    if (this.#soon || this.#closed) return;
    this.#soon = setTimeout(() => {
      this.#soon = undefined;
      this.catchUp().catch(() => {});
    }, SOON_MS);
    this.#soon.unref();
  }

  /** Ends the upkeep and waits for what is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#soon);
    await this.#catchingUp?.catch(() => {});
  }

  #put(seq: number, row: Indexed): void {
    const segment = seq >>> SEGMENT_BITS;
    let buckets = this.#segments.get(segment);
    if (!buckets) {
      buckets = newBuckets();
      this.#segments.set(segment, buckets);
    }
    const code = row.result === null ? NO_RESULT : (RESULT_CODES[row.result] ?? NO_RESULT);
    const place = ((seq & (SEGMENT_SIZE - 1)) << 2) | code;
    const post = (kind: PostingKey['kind'], text: string): void => {
      const hash = hashKey(kind, text);
      (buckets[hash % BUCKETS] as Bucket).push(hash, place);
    };
    if (row.agentId) post('agent', row.agentId);
    if (row.userId) post('user', row.userId);
    if (row.action) post('action', row.action);
    if (row.result !== null && row.result !== 'allowed') post('result', row.result);
  }

  /** Reads what is missing up to the end of the ledger and writes the segments that have closed. */
  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#follow().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  async #follow(): Promise<void> {
    const db = this.#db.read;
    if (this.#next === undefined) {
      const done = await db.selectFrom('projections').select('upto').where('name', '=', PROJECTION).executeTakeFirst();
      this.#next = (done?.upto ?? 0) + 1;
    }
    for (;;) {
      const head = await db.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow();
      while (this.#next <= head.seq && !this.#closed) {
        const upto = Math.min(this.#next + SLICE - 1, head.seq);
        const query = db
          .selectFrom('stream_events')
          .select(['seq', 'agent_id', 'user_id', 'action', 'result'])
          .where('seq', '>=', this.#next)
          .where('seq', '<=', upto)
          .orderBy('seq');
        for (const [seq, agentId, userId, action, result] of await selectArrays<ListedRow>(this.#db, query))
          this.#put(seq, { agentId, userId, action, result });
        this.#next = upto + 1;
        await this.#writeClosed();
        // Nobody waits for upkeep.
        await (this.#waiting > 0 ? breathe() : sleep(PAUSE_MS));
      }
      await this.#writeClosed();
      const now = await db.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow();
      if (now.seq < this.#next || this.#closed) return;
    }
  }

  async #writeClosed(): Promise<void> {
    const open = (this.#next as number) >>> SEGMENT_BITS;
    for (const [segment, buckets] of [...this.#segments].sort((a, b) => a[0] - b[0])) {
      if (segment >= open) continue;
      await this.#maintain(async (db) => {
        await db.deleteFrom('event_postings').where('segment', '=', segment).execute();
        const rows = buckets.map(({ words }, bucket) => ({
          bucket,
          segment,
          entries: Buffer.from(words.buffer, words.byteOffset, words.byteLength),
        }));
        await db.insertInto('event_postings').values(rows).execute();
        const upto = (segment + 1) * SEGMENT_SIZE - 1;
        await db
          .insertInto('projections')
          .values({ name: PROJECTION, upto })
          .onConflict((c) => c.column('name').doUpdateSet({ upto }))
          .execute();
      });
      this.#segments.delete(segment);
    }
  }

  /**
   * Sequence numbers that may fit, from below `before` down to `from`, newest first, segment by segment.
   * @param wanted one key of each group belongs to what fits; first those that narrow most.
   * @param results bit mask of result codes.
   * @param enough how many to gather before they are given.
   */
  async *lookup(
    wanted: readonly (readonly PostingKey[])[],
    results: number,
    from: number,
    before: number,
    enough: number,
  ): AsyncGenerator<number[]> {
    this.#waiting++;
    await this.catchUp().finally(() => {
      this.#waiting--;
    });
    const groups = wanted.map((keys) => [...new Set(keys.map((key) => hashKey(key.kind, key.value)))]);
    const last = (before - 1) >>> SEGMENT_BITS;
    const first = Math.max(0, from) >>> SEGMENT_BITS;
    let found: number[] = [];
    let since = performance.now();
    for (let segment = last; segment >= first; segment--) {
      const base = segment * SEGMENT_SIZE;
      for (const offset of this.#match(segment, groups, results, from - base, before - base)) found.push(base + offset);
      if (found.length >= enough) {
        yield found;
        found = [];
      }
      if (performance.now() - since > SLICE_MS) {
        await breathe();
        since = performance.now();
      }
    }
    if (found.length > 0) yield found;
  }

  /** Offsets in a segment that are in every group, newest first. When few are left, the row itself tells the rest. */
  #match(
    segment: number,
    groups: readonly (readonly number[])[],
    results: number,
    from: number,
    before: number,
  ): number[] {
    let found: number[] | undefined;
    for (const hashes of groups) {
      const among: ReadonlySet<number> | undefined = found && new Set(found);
      const next: number[] = [];
      for (const hash of hashes) {
        const words = this.#words(segment, hash % BUCKETS);
        for (let i = words.length - 2; i >= 0; i -= 2) {
          if (words[i] !== hash) continue;
          const place = words[i + 1] as number;
          const offset = place >>> 2;
          if (results & (1 << (place & 3)) && offset < before && offset >= from && (!among || among.has(offset)))
            next.push(offset);
        }
      }
      // Each list is newest first; several of them are not.
      if (hashes.length > 1) next.sort((a, b) => b - a);
      found = next;
      if (found.length <= FEW) break;
    }
    return found ?? [];
  }

  #words(segment: number, bucket: number): Uint32Array {
    const waiting = this.#segments.get(segment)?.[bucket]?.words;
    if (waiting) return waiting;
    const sql = `select entries from ${this.#db.prefix}event_postings where bucket = ? and segment = ?`;
    const bytes = this.#db.reader.prepare(sql).raw([bucket, segment])[0]?.[0] as Uint8Array | undefined;
    return bytes ? new Uint32Array(new Uint8Array(bytes).buffer) : NOTHING;
  }
}

const FEW = 100;
const NOTHING = new Uint32Array();
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
