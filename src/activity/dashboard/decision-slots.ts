import { chunk } from '../../kernel/chunk.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/clock.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import { type Database, type Db, selectArrays } from '../../storage/index.ts';
import type { Counted } from './counted.ts';

export const SLOT_MS = 15 * MINUTE_MS;
/** Quarters of an hour are kept for the longest window and its adjacent slots, days permanently. */
const KEPT_MS = 32 * DAY_MS;
const ROWS_AT_ONCE = 100;
/** `user_id` of the sums over all owners. No owner has this id. */
const EVERYONE = asId('user', '');

export const slotOf = (ms: number): number => Math.floor(ms / SLOT_MS);
/** Days are below zero, before every quarter of an hour. */
export const daySlotOf = (ms: number): number => -Math.floor(ms / DAY_MS);

/** Durations are counted in buckets from 0.01 ms, each a tenth wider than the previous one. */
const BUCKETS = 160;
const SMALLEST_MS = 0.01;
const GROWTH = Math.log(1.1);

const bucketOf = (ms: number): number =>
  ms <= SMALLEST_MS ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log(ms / SMALLEST_MS) / GROWTH));

/** Returns the middle of a bucket, at most 5 % from the measured value. */
const middleOf = (bucket: number): number => SMALLEST_MS * Math.exp(GROWTH * (bucket - 0.5));

export interface SlotSums {
  allowed: number;
  denied: number;
  rateLimited: number;
  readonly durations: Uint32Array;
}

const empty = (): SlotSums => ({ allowed: 0, denied: 0, rateLimited: 0, durations: new Uint32Array(BUCKETS) });

export function addSums(to: SlotSums, more: SlotSums): void {
  to.allowed += more.allowed;
  to.denied += more.denied;
  to.rateLimited += more.rateLimited;
  more.durations.forEach((n, i) => {
    to.durations[i] = (to.durations[i] as number) + n;
  });
}
export const noSums = empty;

/** Returns the duration that the share `q` of the decisions did not exceed; null without decisions. */
export function quantile({ durations }: SlotSums, q: number): number | null {
  const all = durations.reduce((sum, n) => sum + n, 0);
  if (all === 0) return null;
  let seen = 0;
  const bucket = durations.findIndex((n) => (seen += n) >= all * q);
  return Number(middleOf(bucket).toPrecision(3));
}

interface Row {
  readonly userId: Id<'user'>;
  readonly slot: number;
  readonly sums: SlotSums;
}

export interface SlotRow {
  readonly user_id: Id<'user'>;
  readonly slot: number;
  readonly allowed: number;
  readonly denied: number;
  readonly rate_limited: number;
  readonly durations: string;
}

/** The current slots of an owner. */
interface Current {
  readonly slot: Row;
  readonly day: Row;
}

/**
 * Decisions by result and duration, for each owner and slot. The newest slots are in memory, older ones in the table.
 */
export class DecisionSlots {
  /** By slot, then by owner. */
  readonly #rows = new Map<number, Map<string, Row>>();
  #changed = new Set<Row>();
  #current = new Map<Id<'user'>, Current>();
  #currentSlot = -1;
  /** Rows of earlier slots may be in the table only. */
  #first = 0;
  #everyone: Current | undefined;

  /**
   * Returns whether a decision of this time may be added. If not, the time of the ledger was set back, and the rows
   * must be loaded from that time on.
   */
  holds(timestamp: number): boolean {
    return slotOf(timestamp) >= this.#first;
  }

  add({ userId, timestamp, result, durationMs }: Counted): void {
    const slot = slotOf(timestamp);
    if (slot !== this.#currentSlot) {
      this.#currentSlot = slot;
      this.#current = new Map();
      this.#everyone = this.#begin(EVERYONE, timestamp);
    }
    let own = this.#current.get(userId);
    if (!own) this.#current.set(userId, (own = this.#begin(userId, timestamp)));
    const everyone = this.#everyone as Current;
    const bucket = bucketOf(durationMs);
    this.#count(own.slot, result, bucket);
    this.#count(own.day, result, bucket);
    this.#count(everyone.slot, result, bucket);
    this.#count(everyone.day, result, bucket);
  }

  #begin(userId: Id<'user'>, timestamp: number): Current {
    return { slot: this.#row(userId, slotOf(timestamp)), day: this.#row(userId, daySlotOf(timestamp)) };
  }

  #row(userId: Id<'user'>, slot: number, sums = empty): Row {
    let owners = this.#rows.get(slot);
    if (!owners) this.#rows.set(slot, (owners = new Map()));
    let row = owners.get(userId);
    if (!row) owners.set(userId, (row = { userId, slot, sums: sums() }));
    return row;
  }

  #count(row: Row, result: string, bucket: number): void {
    const { sums } = row;
    if (result === 'allowed') sums.allowed++;
    else if (result === 'denied') sums.denied++;
    else sums.rateLimited++;
    sums.durations[bucket] = (sums.durations[bucket] as number) + 1;
    this.#changed.add(row);
  }

  /** Reads the rows that decisions after this time may add to. */
  async load(db: Db, since: number): Promise<void> {
    const rows = await db
      .selectFrom('decision_slots')
      .selectAll()
      .where((eb) =>
        eb.or([eb('slot', '>=', slotOf(since)), eb.and([eb('slot', '<', 0), eb('slot', '<=', daySlotOf(since))])]),
      )
      .execute();
    this.#rows.clear();
    this.#changed.clear();
    this.#currentSlot = -1;
    this.#first = slotOf(since);
    for (const row of rows) this.#row(row.user_id, row.slot, () => sumsOf(row));
  }

  /** Returns the sums by slot. Slots in memory are complete; the table has the others. */
  async read(
    database: Database,
    owners: readonly Id<'user'>[] | undefined,
    from: number,
    before: number,
  ): Promise<Map<number, SlotSums>> {
    const found = new Map<number, SlotSums>();
    const add = (slot: number, sums: SlotSums): void => {
      const sum = found.get(slot);
      if (sum) addSums(sum, sums);
      else {
        const first = empty();
        addSums(first, sums);
        found.set(slot, first);
      }
    };
    const wanted = new Set(owners ?? [EVERYONE]);
    for (const some of chunk([...wanted])) {
      const query = database.read
        .selectFrom('decision_slots')
        .select(['user_id', 'slot', 'allowed', 'denied', 'rate_limited', 'durations'])
        .where('user_id', 'in', some)
        .where('slot', '>=', from)
        .where('slot', '<', before);
      for (const [user_id, slot, allowed, denied, rate_limited, durations] of await selectArrays<
        [Id<'user'>, number, number, number, number, string]
      >(database, query))
        if (!this.#rows.get(slot)?.has(user_id))
          add(slot, sumsOf({ user_id, slot, allowed, denied, rate_limited, durations }));
    }
    for (const [slot, rows] of this.#rows)
      if (slot >= from && slot < before)
        for (const userId of wanted) {
          const row = rows.get(userId);
          if (row) add(slot, row.sums);
        }
    return found;
  }

  /** Returns the rows that changed since the last call. */
  changed(): SlotRow[] {
    const rows = this.#changed;
    this.#changed = new Set();
    return [...rows].map(({ userId, slot, sums: { allowed, denied, rateLimited, durations } }) => ({
      user_id: userId,
      slot,
      allowed,
      denied,
      rate_limited: rateLimited,
      durations: JSON.stringify([...durations].flatMap((n, i) => (n > 0 ? [[i, n]] : []))),
    }));
  }

  /** Marks rows that could not be written as changed again. */
  keepChanged(rows: readonly SlotRow[]): void {
    for (const { user_id, slot } of rows) {
      const row = this.#rows.get(slot)?.get(user_id);
      if (row) this.#changed.add(row);
    }
  }

  /** Removes past slots that are written. */
  forget(): void {
    this.#first = Math.max(this.#first, this.#currentSlot);
    const day = daySlotOf(this.#currentSlot * SLOT_MS);
    for (const [slot, rows] of this.#rows) {
      const isOver = slot < 0 ? slot > day : slot < this.#currentSlot;
      if (isOver && ![...rows.values()].some((row) => this.#changed.has(row))) this.#rows.delete(slot);
    }
  }

  static async write(db: Db, rows: readonly SlotRow[], now: number): Promise<void> {
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
      await db
        .insertInto('decision_slots')
        .values(rows.slice(at, at + ROWS_AT_ONCE))
        .onConflict((c) =>
          c.columns(['user_id', 'slot']).doUpdateSet((eb) => ({
            allowed: eb.ref('excluded.allowed'),
            denied: eb.ref('excluded.denied'),
            rate_limited: eb.ref('excluded.rate_limited'),
            durations: eb.ref('excluded.durations'),
          })),
        )
        .execute();
    await db
      .deleteFrom('decision_slots')
      .where('slot', '>=', 0)
      .where('slot', '<', slotOf(now - KEPT_MS))
      .execute();
  }
}

function sumsOf(row: SlotRow): SlotSums {
  const durations = new Uint32Array(BUCKETS);
  for (const [bucket, n] of JSON.parse(row.durations) as [number, number][]) durations[bucket] = n;
  return { allowed: row.allowed, denied: row.denied, rateLimited: row.rate_limited, durations };
}
