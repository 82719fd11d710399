import { LegateError } from '../../kernel/errors.ts';
import type { Condition } from '../../ledger/index.ts';
import type { Call } from '../../platform/route.ts';
import { defineState, type Platform } from '../../platform.ts';
import { conditionsOf } from '../audit/index.ts';
import { errorEvent, type SelectedStream, StreamConnection } from './connection.ts';
import { EventErrors } from './errors.ts';
import { eventHub } from './hub.ts';
import { findRowOf } from './record.ts';
import { forgottenUpTo } from './retention.ts';
import type { StreamQuery } from './schema.ts';
import { type StreamSlot, StreamSlots } from './slots.ts';
import { type Subscriber, subscriberOf } from './subscriber.ts';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

export const streamSlots = defineState(({ config }) => new StreamSlots(config.events.maxConnections));

/** Returns the connections of a service. */
export const slotsOf = ({ stateOf }: Pick<Platform, 'stateOf'>): StreamSlots => stateOf(streamSlots);

export function acceptsStream(request: Request): boolean {
  const accept = request.headers.get('accept');
  return accept === null || /(^|,)\s*(text\/event-stream|text\/\*|\*\/\*)\s*(;|,|$)/i.test(accept);
}

const tooMany = (): Response =>
  new Response('Too many connections', {
    status: 503,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', 'retry-after': '5' },
  });

/**
 * Opens a stream (specification 4.7 and 6.2, contract 13). A connection is reserved before anything is awaited, so
 * exactly `events.maxConnections` are open. The identity of the caller matters only if all are in use and some caller
 * exceeds its share. A caller whose credential is refused gets one `error` event with status 200, as specified.
 */
export async function openStream(
  platform: Platform,
  call: Pick<Call<undefined, StreamQuery, undefined>, 'query' | 'request' | 'authenticateAs'>,
): Promise<Response> {
  if (!acceptsStream(call.request)) throw EventErrors.NOT_ACCEPTABLE();
  const streams = slotsOf(platform);
  let slot = streams.reserve();
  if (!slot && (streams.closed || !streams.mayDisplace)) return tooMany();
  try {
    const subscriber = await subscriberOf(platform, call);
    if (slot) streams.assign(slot, subscriber.holder);
    else slot = streams.claim(subscriber.holder);
    if (!slot) return tooMany();
    return await connect(platform, call, subscriber, slot);
  } catch (error) {
    if (slot && !slot.connection) streams.release(slot);
    if (!(error instanceof LegateError) || (error.status !== 401 && error.status !== 403)) throw error;
    return new Response(errorEvent(error.status === 401 ? 'UNAUTHORIZED' : error.code, error.message), {
      status: 200,
      headers: HEADERS,
    });
  }
}

async function connect(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'reader' | 'stateOf'>,
  call: Pick<Call<undefined, StreamQuery, undefined>, 'query' | 'request'>,
  subscriber: Subscriber,
  slot: StreamSlot,
): Promise<Response> {
  const { heartbeatIntervalMs, eventTypes } = platform.config.events;
  const { after, gap } = await cursorOf(platform, call);
  const wanted = call.query.types;
  slot.connection = new StreamConnection({
    hub: platform.stateOf(eventHub),
    after,
    types: new Set(wanted ? eventTypes.filter((type) => wanted.includes(type)) : eventTypes),
    visibility: subscriber.visibility,
    heartbeatMs: heartbeatIntervalMs,
    expiresAt: subscriber.expiresAt,
    now: () => platform.clock.now(),
    reauthorize: subscriber.reauthorize,
    notice: gap
      ? {
          code: 'REPLAY_GAP',
          message: 'Some of the requested events are no longer stored. The replay begins with the oldest stored one.',
        }
      : undefined,
    onClose: () => slotsOf(platform).release(slot),
    selected: await selectedOf(platform, call.query),
  });
  // The credential may have ended while the stream was being opened, and the service may have begun to stop.
  slot.connection.revalidate();
  if (slotsOf(platform).closed) slot.connection.close();
  return new Response(slot.connection.body, { status: 200, headers: HEADERS });
}

/** Returns the selection of a stream with filters, a limit or counts; undefined without any of them. */
async function selectedOf(
  { database }: Pick<Platform, 'database'>,
  query: StreamQuery,
): Promise<SelectedStream | undefined> {
  const { maxPerSecond = Number.POSITIVE_INFINITY, ticks } = query;
  const conditions = (): Promise<Condition[]> => conditionsOf(database.read, query);
  const first = await conditions();
  if (first.length === 0 && maxPerSecond === Number.POSITIVE_INFINITY && ticks !== 'true') return undefined;
  const changing = query.tenantId !== undefined || query['not.tenantId'] !== undefined;
  return { maxPerSecond, ticks: ticks === 'true', conditions, first, changing };
}

/** Returns where a stream begins: after the event of Last-Event-ID, at `since`, or at the end of the ledger. */
async function cursorOf(
  platform: Pick<Platform, 'database' | 'reader' | 'stateOf'>,
  { query, request }: Pick<Call<undefined, StreamQuery, undefined>, 'query' | 'request'>,
): Promise<{ after: number; gap?: boolean }> {
  const id = request.headers.get('last-event-id') || query.lastEventId;
  if (id) {
    const seq = (await findRowOf(platform, id))?.seq;
    return seq === undefined ? { after: 0, gap: true } : { after: seq, gap: seq < (await forgottenUpTo(platform)) };
  }
  if (query.since === undefined) return { after: await platform.stateOf(eventHub).head() };
  const after = (await platform.reader.seqAt(query.since)) - 1;
  const oldest = await platform.database.read
    .selectFrom('stream_events')
    .select(['seq', 'timestamp'])
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return {
    after,
    gap:
      (oldest !== undefined && oldest.seq > 1 && query.since < oldest.timestamp) ||
      after < (await forgottenUpTo(platform)),
  };
}
