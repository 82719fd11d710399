import { toFrame } from '../events/index.ts';
import { SECOND_MS } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { Platform } from '../platform.ts';
import type { Db, WebhookDeliveryRow } from '../storage/index.ts';
import { attempt } from './attempt.ts';

const PROJECTION = 'webhooks';
const SLICE = 500;
/** How soon after an event its deliveries begin, and how often what is due is looked for. */
const SOON_MS = 50;
const PUMP_MS = 500;
/** A process that took a delivery and died is taken for dead after this long. */
const LEASE_MS = 60 * SECOND_MS;
/** How long a stop waits for slow receivers: less than the service has for stopping. */
const STOP_MS = 5 * SECOND_MS;
const MAX_AT_ONCE = 64;
const MAX_PER_ENDPOINT = 5;
/** Another process has followed further. */
class Superseded extends Error {}

/**
 * The queue of webhooks. It follows the ledger, each event once whichever process is first, and writes a delivery for every
 * endpoint that may see it; what is due is taken by a lease, so that several processes deliver each once.
 */
export class Dispatcher {
  readonly #platform: Platform;
  /** Deliveries under way here, by endpoint. */
  readonly #underWay = new Map<string, number>();
  #total = 0;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  readonly #sending = new Set<Promise<void>>();
  /** Nothing is enabled and nothing waits: looked at again by upkeep. */
  #idle = false;
  #stopped = false;

  constructor(platform: Platform) {
    this.#platform = platform;
    platform.ledger.onCommit(() => {
      if (!this.#idle) this.#runSoon();
    });
    this.#timer = setInterval(() => {
      if (!this.#idle) this.#runSoon();
    }, PUMP_MS).unref();
  }

  /** There may be something to do. */
  wake(): void {
    this.#idle = false;
    this.#runSoon();
  }

  #runSoon(): void {
    if (this.#stopped) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.run().catch((error: unknown) => this.#platform.log.warn({ err: error }, 'webhooks could not be delivered and are tried again'));
    }, SOON_MS).unref();
  }

  /** Follows the ledger to its end and begins what is due. */
  run(): Promise<void> {
    const turn = this.#turn.then(async () => {
      const any = await this.#follow();
      const begun = await this.#begin();
      this.#idle = !any && begun === 0 && this.#total === 0 && !(await this.#anyPending());
    });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** As {@link run}, and waits for the deliveries that are under way. */
  async settle(): Promise<void> {
    do {
      await this.run();
      await Promise.all(this.#sending);
    } while (this.#sending.size > 0);
  }

  /** Waits a while for the deliveries that are under way; one that takes longer is made again when its lease is over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    clearTimeout(this.#soon);
    await this.#turn;
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, STOP_MS);
    });
    await Promise.race([Promise.all(this.#sending), enough]);
    clearTimeout(timer);
  }

  async #anyPending(): Promise<boolean> {
    const row = await this.#platform.database.read.selectFrom('webhook_deliveries').select('id').where('status', '=', 'pending').limit(1).executeTakeFirst();
    return row !== undefined;
  }

  /** False: no endpoint is enabled. */
  async #follow(): Promise<boolean> {
    const { read } = this.#platform.database;
    for (;;) {
      // The end first: an endpoint that is made after this reading gets what happens from there on with the next one.
      const { seq: end } = await read.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow();
      const endpoints = await read
        .selectFrom('webhooks')
        .innerJoin('users', 'users.id', 'webhooks.user_id')
        .select(['webhooks.id', 'webhooks.user_id', 'webhooks.types', 'webhooks.created_at', 'users.role'])
        .where('webhooks.enabled', '=', 1)
        .execute();
      if (endpoints.length === 0) return false;
      const from = (await read.selectFrom('projections').select('upto').where('name', '=', PROJECTION).executeTakeFirst())?.upto;
      if (from === undefined || from >= end) return true;
      const upto = Math.min(end, from + SLICE);
      const rows = await read.selectFrom('stream_events').selectAll().where('seq', '>', from).where('seq', '<=', upto).orderBy('seq').execute();
      const now = this.#platform.clock.now();
      const wanted = endpoints.map((e) => ({ ...e, types: e.types === null ? undefined : new Set(JSON.parse(e.types) as string[]) }));
      const deliveries: WebhookDeliveryRow[] = [];
      const shown = new Set(this.#platform.config.events.eventTypes);
      for (const row of rows) {
        if (!shown.has(row.type)) continue;
        const fitting = wanted.filter(
          (e) => row.timestamp >= e.created_at && (e.role === 'admin' || e.user_id === row.user_id) && (e.types === undefined || e.types.has(row.type)),
        );
        if (fitting.length === 0) continue;
        const frame = toFrame(row);
        for (const { id } of fitting) deliveries.push(newDelivery(now, id, frame.id, frame.type, frame.json));
      }
      try {
        await this.#platform.ledger.maintain(async (db) => {
          const moved = await db.updateTable('projections').set({ upto }).where('name', '=', PROJECTION).where('upto', '=', from).executeTakeFirst();
          if (moved.numUpdatedRows === 0n) throw new Superseded();
          for (let at = 0; at < deliveries.length; at += 100) await insertDeliveries(db, deliveries.slice(at, at + 100));
        });
      } catch (error) {
        if (!(error instanceof Superseded)) throw error;
      }
    }
  }

  /** Takes what is due and has room, and begins it. Gives how many. */
  async #begin(): Promise<number> {
    if (this.#stopped || this.#total >= MAX_AT_ONCE) return 0;
    const { read } = this.#platform.database;
    const now = this.#platform.clock.now();
    const full = [...this.#underWay].filter(([, n]) => n >= MAX_PER_ENDPOINT).map(([id]) => id);
    let query = read
      .selectFrom('webhook_deliveries as d')
      .innerJoin('webhooks as w', 'w.id', 'd.webhook_id')
      .innerJoin('users as u', 'u.id', 'w.user_id')
      .select(['d.id', 'd.webhook_id'])
      .where('d.status', '=', 'pending')
      .where('d.next_at', '<=', now)
      .where('d.lease_until', '<=', now)
      .where('w.enabled', '=', 1)
      .where('w.paused_until', '<=', now);
    if (full.length > 0) query = query.where('d.webhook_id', 'not in', full);
    const due = await query.orderBy('d.next_at').orderBy('d.id').limit(200).execute();
    const chosen: string[] = [];
    const room = new Map<string, number>();
    for (const { id, webhook_id } of due) {
      const left = room.get(webhook_id) ?? MAX_PER_ENDPOINT - (this.#underWay.get(webhook_id) ?? 0);
      if (left <= 0 || this.#total + chosen.length >= MAX_AT_ONCE) continue;
      room.set(webhook_id, left - 1);
      chosen.push(id);
    }
    if (chosen.length === 0) return 0;
    const taken = await this.#platform.ledger.maintain((db) =>
      db
        .updateTable('webhook_deliveries')
        .set({ lease_until: now + LEASE_MS })
        .where('id', 'in', chosen)
        .where('status', '=', 'pending')
        .where('lease_until', '<=', now)
        .returningAll()
        .execute(),
    );
    for (const delivery of taken) this.#send(delivery);
    return taken.length;
  }

  #send(delivery: WebhookDeliveryRow): void {
    const { webhook_id } = delivery;
    this.#total++;
    this.#underWay.set(webhook_id, (this.#underWay.get(webhook_id) ?? 0) + 1);
    const sending = attempt(this.#platform, delivery)
      .then(() => {})
      .catch((error: unknown) => this.#platform.log.warn({ err: error, deliveryId: delivery.id }, 'what became of a delivery could not be written; it is made again'))
      .finally(() => {
        this.#total--;
        const left = (this.#underWay.get(webhook_id) ?? 1) - 1;
        if (left > 0) this.#underWay.set(webhook_id, left);
        else this.#underWay.delete(webhook_id);
        this.#sending.delete(sending);
        this.#runSoon();
      });
    this.#sending.add(sending);
  }
}

export const newDelivery = (now: number, webhookId: string, eventId: string, type: string, body: string): WebhookDeliveryRow => ({
  id: newId('delivery', now),
  webhook_id: webhookId,
  event_id: eventId,
  type,
  body,
  status: 'pending',
  attempts: 0,
  next_at: now,
  lease_until: 0,
  last_status: null,
  last_error: null,
  created_at: now,
  delivered_at: null,
});

export const insertDeliveries = async (db: Db, rows: readonly WebhookDeliveryRow[]): Promise<void> => {
  await db
    .insertInto('webhook_deliveries')
    .values(rows)
    .onConflict((oc) => oc.columns(['webhook_id', 'event_id']).doNothing())
    .execute();
};

const dispatchers = new WeakMap<Platform, Dispatcher>();

export function dispatcherOf(platform: Platform): Dispatcher {
  let dispatcher = dispatchers.get(platform);
  if (!dispatcher) {
    dispatcher = new Dispatcher(platform);
    dispatchers.set(platform, dispatcher);
  }
  return dispatcher;
}
