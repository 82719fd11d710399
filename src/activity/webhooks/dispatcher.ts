import { SECOND_MS } from '../../kernel/clock.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import {
  type EventType,
  erasuresSoFar,
  filterFieldsOf,
  LedgerFollower,
  matches,
  movePosition,
  readPosition,
  Superseded,
  storedObject,
  WEBHOOK_QUEUE,
} from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import type { StreamEventRow, WebhookDeliveryRow, WebhookRow } from '../../storage/index.ts';
import { conditionsOf, type RowQuery } from '../audit/index.ts';
import { eventId, toJson } from '../stream/index.ts';
import { attempt } from './attempt.ts';
import { type ChatFormat, chatBody, isChatType } from './chat.ts';
import { getsAll } from './may-receive.ts';
import { insertDeliveries, keepWebhooks } from './store.ts';

const SLICE = 500;
/** Delay between an event and its deliveries. */
const SOON_MS = 50;
/** Delay after a delivery if others are waiting for room. */
const SOONER_MS = 5;
const PUMP_MS = 500;
/** Types about webhooks, sent only to endpoints that name them, and never to a webhook about its own creation. */
const OWN = 'webhook.';
const CREATED: EventType = 'webhook.created';
const isAbout = ({ data }: { data: string | null }, webhookId: Id<'webhook'>): boolean =>
  storedObject(data)['webhookId'] === webhookId;
/**
 * A process that has not renewed the lease of its delivery for this long is considered stopped. With clocks that differ
 * by 2 s and the pump, another process takes over within 10 s.
 */
export const LEASE_MS = 6 * SECOND_MS;
const RENEW_MS = 2 * SECOND_MS;
/** How long a stop waits for slow receivers. Less than the time that the service has to stop. */
const STOP_MS = 5 * SECOND_MS;
const MAX_AT_ONCE = 128;
const MAX_PER_OWNER = 20;
const MAX_PER_ENDPOINT = 5;

type UnderWay = Pick<WebhookRow, 'user_id'> & Pick<WebhookDeliveryRow, 'webhook_id'>;
type DueDelivery = UnderWay & Pick<WebhookDeliveryRow, 'id' | 'lease_until'> & Pick<WebhookRow, 'failures'>;

/**
 * The queue of webhooks. Follows the ledger, where each event is handled once by the first process, and creates a
 * delivery for every endpoint that may see it. Due deliveries are leased, so that several processes deliver each one
 * once. A lease is short and renewed while the receiver takes its time.
 */
export class Dispatcher {
  readonly #platform: Platform;
  readonly #follower: LedgerFollower;
  /** Deliveries in progress in this process. */
  readonly #underWay = new Map<Promise<void>, UnderWay>();
  /** The leases that this process has written, by delivery in progress. */
  readonly #leases = new Map<Id<'delivery'>, { readonly of: Id<'webhook'>; readonly leases: number[] }>();
  readonly #timers: NodeJS.Timeout[];
  /** True if more deliveries were due than could be started. */
  #crowded = false;
  /** True if no endpoint is enabled and no delivery waits. Upkeep checks again. */
  #idle = false;

  constructor(platform: Platform) {
    this.#platform = platform;
    const { database, ledger, log } = platform;
    this.#follower = new LedgerFollower({
      database,
      sliceSize: SLICE,
      // Nothing is followed before the first endpoint.
      readStart: async () => (await readPosition(database.read, WEBHOOK_QUEUE)) ?? Number.POSITIVE_INFINITY,
      onSlice: (from, upto) => this.#queue(from, upto),
      background: {
        run: () => this.run(),
        delayMs: SOON_MS,
        onError: (error) => log.warn({ err: error }, 'webhooks could not be delivered and will be retried'),
      },
    });
    const runUnlessIdle = (): void => {
      if (!this.#idle) this.#follower.runSoon();
    };
    ledger.onCommit(runUnlessIdle);
    const renew = (): void => {
      this.renew().catch((error: unknown) =>
        log.warn(
          { err: error },
          'the leases of deliveries in progress could not be renewed; another instance may repeat the deliveries',
        ),
      );
    };
    this.#timers = [setInterval(runUnlessIdle, PUMP_MS).unref(), setInterval(renew, RENEW_MS).unref()];
  }

  /** Called when new events or due deliveries are possible. */
  wake(): void {
    this.#idle = false;
    this.#follower.runSoon();
  }

  /**
   * Catches up with the ledger and begins due deliveries. Returns true if any were due. Commands leave both to the
   * service, because they may run with other settings, such as one that refuses its addresses. An instance with a wrong
   * clock leaves both to the others, because receivers refuse its signatures as too old or too new.
   */
  async run(): Promise<boolean> {
    const { instance, ledger } = this.#platform;
    if (!instance.serves || !ledger.time.isTrusted) return false;
    return this.#follower.exclusively(async () => {
      const any = (await this.#endpoints()).length > 0;
      // The position in memory may be out of date, because another instance has moved on.
      this.#follower.reset();
      if (any) await this.#follower.catchUp();
      const due = await this.#begin();
      this.#idle = !any && !due && this.#underWay.size === 0 && !(await this.#anyPending());
      return due;
    });
  }

  /** Repeats {@link run} until nothing is in progress or due. */
  async runUntilIdle(): Promise<void> {
    let due: boolean;
    do {
      due = await this.run();
      await Promise.all(this.#underWay.keys());
    } while (due && !this.#follower.stopped);
  }

  /** Renews the leases of deliveries in progress. */
  async renew(): Promise<void> {
    if (this.#leases.size === 0) return;
    const until = leaseUntil(this.#platform.clock.now());
    const held = [...this.#leases];
    for (const [, { leases }] of held) leases.push(until);
    await this.#platform.ledger.maintain(async (db) => {
      const webhooks = held.map(([, { of }]) => of);
      await keepWebhooks(this.#platform.database, db, webhooks);
      for (const [id, { leases }] of held)
        await db
          .updateTable('webhook_deliveries')
          .set({ lease_until: until })
          .where('id', '=', id)
          .where('status', '=', 'pending')
          .where('lease_until', 'in', leases)
          .execute();
    });
  }

  /** Makes an attempt of a leased delivery and renews its lease until the attempt ends. */
  async attempt(delivery: WebhookDeliveryRow, last = false): Promise<WebhookDeliveryRow> {
    const held = { of: delivery.webhook_id, leases: [delivery.lease_until] };
    this.#leases.set(delivery.id, held);
    try {
      return await attempt(this.#platform, delivery, held.leases, last);
    } finally {
      if (this.#leases.get(delivery.id) === held) this.#leases.delete(delivery.id);
    }
  }

  /** Waits a limited time for deliveries in progress. Longer ones are repeated when their lease expires. */
  async stop(): Promise<void> {
    await this.#follower.stop();
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, STOP_MS);
    });
    await Promise.race([Promise.all(this.#underWay.keys()), enough]);
    clearTimeout(timer);
    for (const each of this.#timers) clearInterval(each);
  }

  async #anyPending(): Promise<boolean> {
    const row = await this.#platform.database.read
      .selectFrom('webhook_deliveries')
      .select('id')
      .where('status', '=', 'pending')
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }

  #endpoints() {
    return this.#platform.database.read
      .selectFrom('webhooks')
      .innerJoin('users', 'users.id', 'webhooks.user_id')
      .select([
        'webhooks.id',
        'webhooks.user_id',
        'webhooks.types',
        'webhooks.filters',
        'webhooks.format',
        'webhooks.by_agent',
        'webhooks.created_at',
        'users.role',
        'users.suspended_at',
      ])
      .where('webhooks.enabled', '=', 1)
      .execute();
  }

  /** Writes the deliveries of the rows from `from` to `upto`. */
  async #queue(from: number, upto: number): Promise<number> {
    const { clock, database, ledger } = this.#platform;
    // Read after the end of the ledger: an endpoint that is created later receives the events after this slice.
    const endpoints = await this.#endpoints();
    if (endpoints.length === 0) return from - 1;
    const erasures = await erasuresSoFar(database.read);
    const rows = await database.read
      .selectFrom('stream_events')
      .selectAll()
      .where('seq', '>=', from)
      .where('seq', '<=', upto)
      .orderBy('seq')
      .execute();
    const now = clock.now();
    const wanted = [];
    for (const e of endpoints.filter(({ suspended_at }) => suspended_at === null))
      wanted.push({
        ...e,
        types: e.types === null ? undefined : new Set(JSON.parse(e.types) as string[]),
        where: e.filters === null ? undefined : await conditionsOf(database.read, JSON.parse(e.filters) as RowQuery),
      });
    const deliveries: WebhookDeliveryRow[] = [];
    const shown = new Set(this.#platform.config.events.eventTypes);
    for (const row of rows) {
      if (!shown.has(row.type)) continue;
      const fitting = wanted.filter(
        (e) =>
          row.timestamp >= e.created_at &&
          (getsAll(e) || e.user_id === row.user_id) &&
          (e.types === undefined ? !row.type.startsWith(OWN) : e.types.has(row.type)) &&
          (e.where === undefined || matches(filterFieldsOf(row), e.where)) &&
          (e.format === null || isChatType(row.type)) &&
          !(row.type === CREATED && isAbout(row, e.id)),
      );
      if (fitting.length === 0) continue;
      const json = toJson(row);
      for (const { id, format } of fitting) {
        const body = format === null ? json : await this.#chatBody(format, row);
        deliveries.push(newDelivery(now, id, eventId(row.id), row.type, body));
      }
    }
    await ledger.maintain(async (db) => {
      await movePosition(db, [WEBHOOK_QUEUE], from - 1, upto);
      // What was erased since the rows were read is not stored again.
      if (deliveries.length > 0 && (await erasuresSoFar(db)) !== erasures) throw new Superseded();
      await insertDeliveries(database, db, deliveries);
    });
    return upto;
  }

  async #chatBody(format: ChatFormat, { type, timestamp, agent_id, data }: StreamEventRow): Promise<string> {
    const agent = await this.#platform.database.read
      .selectFrom('agents')
      .select('name')
      .where('id', '=', agent_id)
      .executeTakeFirst();
    const agentName = agent?.name ?? agent_id ?? '';
    return chatBody(this.#platform, format, { type, timestamp, agentName, data: storedObject(data) });
  }

  /** Begins due deliveries for which there is room. Returns true if any were due, or if there is no room at all. */
  async #begin(): Promise<boolean> {
    if (this.#follower.stopped) return false;
    if (this.#underWay.size >= MAX_AT_ONCE) return true;
    const now = this.#platform.clock.now();
    const room = new Room(this.#underWay.values());
    // After a pause of this process, its own lease of a delivery in progress may have expired.
    const due = (await this.#due(now)).filter((d) => d.lease_until === 0 || !this.#leases.has(d.id));
    const chosen = due.filter((candidate) => room.take(candidate));
    this.#crowded = chosen.length < due.length;
    if (chosen.length === 0) return due.length > 0;
    const owners = new Map(chosen.map(({ webhook_id, user_id }) => [webhook_id, user_id]));
    const taken = await this.#platform.ledger.maintain(async (db) => {
      await keepWebhooks(this.#platform.database, db, owners.keys());
      return (
        db
          .updateTable('webhook_deliveries')
          .set({ lease_until: leaseUntil(now) })
          .where(
            'id',
            'in',
            chosen.map(({ id }) => id),
          )
          .where('status', '=', 'pending')
          // Since the candidates were read, an attempt may have ended and delayed the next one.
          .where('next_at', '<=', now)
          .where('lease_until', '<=', now)
          .returningAll()
          .execute()
      );
    });
    for (const delivery of taken) this.#send(delivery, owners.get(delivery.webhook_id) as Id<'user'>);
    return true;
  }

  /** Returns the first few of every endpoint, so that the backlog of one does not delay others. */
  #due(now: number): Promise<DueDelivery[]> {
    return this.#platform.database.read
      .selectFrom('webhooks as w')
      .innerJoin('users as u', 'u.id', 'w.user_id')
      .innerJoin('webhook_deliveries as d', 'd.webhook_id', 'w.id')
      .select(['d.id', 'd.webhook_id', 'd.lease_until', 'w.user_id', 'w.failures'])
      .where('w.enabled', '=', 1)
      .where('u.suspended_at', 'is', null)
      .where('w.paused_until', '<=', now)
      .where('d.id', 'in', (eb) =>
        eb
          .selectFrom('webhook_deliveries as x')
          .select('x.id')
          .whereRef('x.webhook_id', '=', 'w.id')
          .where('x.status', '=', 'pending')
          .where('x.next_at', '<=', now)
          .where('x.lease_until', '<=', now)
          .orderBy('x.next_at')
          .orderBy('x.id')
          .limit(MAX_PER_ENDPOINT + 1),
      )
      .orderBy('d.next_at')
      .orderBy('d.id')
      .execute();
  }

  #send(delivery: WebhookDeliveryRow, ownerId: Id<'user'>): void {
    const sending: Promise<void> = this.attempt(delivery)
      .then(() => {})
      .catch((error: unknown) =>
        this.#platform.log.warn(
          { err: error, deliveryId: delivery.id },
          'the result of a delivery could not be stored; the delivery is repeated',
        ),
      )
      .finally(() => {
        this.#underWay.delete(sending);
        this.#follower.runSoon(this.#crowded ? SOONER_MS : SOON_MS);
      });
    this.#underWay.set(sending, { webhook_id: delivery.webhook_id, user_id: ownerId });
  }
}

/**
 * Limits concurrent deliveries in total, per owner and per endpoint. An endpoint that keeps failing gets one at a time.
 */
class Room {
  #left = MAX_AT_ONCE;
  readonly #used = new Map<string, number>();

  constructor(underWay: Iterable<UnderWay>) {
    for (const each of underWay) this.#add(each);
  }

  /** Returns false if there is no room. */
  take(candidate: DueDelivery): boolean {
    const full =
      this.#left <= 0 ||
      (this.#used.get(candidate.user_id) ?? 0) >= MAX_PER_OWNER ||
      (this.#used.get(candidate.webhook_id) ?? 0) >= (candidate.failures >= MAX_PER_ENDPOINT ? 1 : MAX_PER_ENDPOINT);
    if (!full) this.#add(candidate);
    return !full;
  }

  #add({ user_id, webhook_id }: UnderWay): void {
    this.#left--;
    for (const key of [user_id, webhook_id]) this.#used.set(key, (this.#used.get(key) ?? 0) + 1);
  }
}

export const leaseUntil = (now: number): number => now + LEASE_MS;

export const newDelivery = (
  now: number,
  webhookId: Id<'webhook'>,
  eventId: Id<'event'>,
  type: string,
  body: string,
): WebhookDeliveryRow => ({
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

export const webhookDispatcher = defineState((platform) => new Dispatcher(platform));

export const dispatcherOf = ({ stateOf }: Pick<Platform, 'stateOf'>): Dispatcher => stateOf(webhookDispatcher);
