import type { Activity, ActivityOrder, Place } from '../../access/agent-activity.ts';
import { FirstPlaces } from '../../access/first-places.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import { type Database, type Db, selectArrays } from '../../storage/index.ts';
import type { Counted } from './counted.ts';

/** Clock hours before the current one that count. */
const HOURS = 24;
const ROWS_AT_ONCE = 200;

type Hour = [hour: number, calls: number, refused: number];

interface Entry {
  lastAt: number;
  /** Oldest first. */
  hours: Hour[];
  /** The activity as seen in the clock hours from `first` on, until the next decision. */
  shown?: { readonly first: number; readonly activity: Activity } | undefined;
}

export interface ActivityRow {
  readonly agent_id: Id<'agent'>;
  readonly last_at: number;
  readonly hours: string;
}

const byHour = (hours: readonly Hour[], first: number): { calls: number; refused: number }[] =>
  Array.from({ length: HOURS + 1 }, (_, i) => {
    const [, calls = 0, refused = 0] = hours.find(([hour]) => hour === first + i) ?? [];
    return { calls, refused };
  });

function activityOf(hours: readonly Hour[], first: number, lastDecisionAt: number | null): Activity {
  let calls = 0;
  let refused = 0;
  for (const [hour, all, not] of hours) {
    if (hour < first) continue;
    calls += all;
    refused += not;
  }
  return { calls, refused, hours: () => byHour(hours, first), lastDecisionAt };
}

const firstHour = (now: number): number => Math.floor(now / HOUR_MS) - HOURS;

/** Lists look at every agent, so the activity is kept until it changes. */
function shownOf(entry: Entry, first: number): Activity {
  if (entry.shown?.first !== first) entry.shown = { first, activity: activityOf(entry.hours, first, entry.lastAt) };
  return entry.shown.activity;
}

/** Decisions of each agent in the last clock hours, and the time of its newest one. */
export class AgentActivities {
  readonly #entries = new Map<Id<'agent'>, Entry>();
  #changed = new Set<Id<'agent'>>();

  add({ agentId, timestamp, result }: Counted): void {
    const hour = Math.floor(timestamp / HOUR_MS);
    let entry = this.#entries.get(agentId);
    if (!entry) this.#entries.set(agentId, (entry = { lastAt: 0, hours: [] }));
    entry.lastAt = timestamp;
    entry.shown = undefined;
    let last = entry.hours[entry.hours.length - 1];
    if (last?.[0] !== hour) {
      entry.hours = entry.hours.filter(([old]) => old >= hour - HOURS);
      // It is there if the time of the ledger was set back.
      last = entry.hours.find(([known]) => known === hour);
      if (!last) entry.hours.push((last = [hour, 0, 0]));
    }
    last[1]++;
    if (result !== 'allowed') last[2]++;
    this.#changed.add(agentId);
  }

  of(agentId: Id<'agent'>, now: number): Activity {
    const entry = this.#entries.get(agentId);
    const first = firstHour(now);
    return entry ? shownOf(entry, first) : activityOf([], first, null);
  }

  /** See {@link AgentActivity.first}. */
  first({ key, descending }: ActivityOrder, after: Place | undefined, limit: number, now: number): Place[] {
    const places = new FirstPlaces<Place>(descending, after, limit);
    const first = firstHour(now);
    for (const [id, entry] of this.#entries) {
      const value = (key === 'lastDecisionAt' ? entry.lastAt : shownOf(entry, first)[key]) ?? 0;
      if (value !== 0) places.add(value, id);
    }
    return places.first;
  }

  /** See {@link AgentActivity.since}. */
  since(time: number, limit: number): Id<'agent'>[] | undefined {
    const ids: Id<'agent'>[] = [];
    for (const [id, { lastAt }] of this.#entries) {
      if (lastAt < time) continue;
      if (ids.length === limit) return undefined;
      ids.push(id);
    }
    return ids;
  }

  async load(database: Database): Promise<void> {
    this.#entries.clear();
    this.#changed.clear();
    const query = database.read.selectFrom('agent_activity').select(['agent_id', 'last_at', 'hours']);
    for (const [agentId, lastAt, hours] of await selectArrays<[Id<'agent'>, number, string]>(database, query))
      this.#entries.set(agentId, { lastAt, hours: JSON.parse(hours) as Hour[] });
  }

  /** Returns the rows that changed since the last call. */
  changed(): ActivityRow[] {
    const ids = this.#changed;
    this.#changed = new Set();
    return [...ids].map((id) => {
      const { lastAt, hours } = this.#entries.get(id) as Entry;
      return { agent_id: id, last_at: lastAt, hours: JSON.stringify(hours) };
    });
  }

  /** Marks rows that could not be written as changed again. */
  keepChanged(rows: readonly ActivityRow[]): void {
    for (const { agent_id } of rows) this.#changed.add(agent_id);
  }

  static async write(db: Db, rows: readonly ActivityRow[]): Promise<void> {
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
      await db
        .insertInto('agent_activity')
        .values(rows.slice(at, at + ROWS_AT_ONCE))
        .onConflict((c) =>
          c.column('agent_id').doUpdateSet((eb) => ({
            last_at: eb.ref('excluded.last_at'),
            hours: eb.ref('excluded.hours'),
          })),
        )
        .execute();
  }
}
