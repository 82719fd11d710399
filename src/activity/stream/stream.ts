import type { Call } from '../../http/route.ts';
import { LegateError } from '../../kernel/errors.ts';
import { isId, timeOfId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { errorEvent, StreamConnection } from './connection.ts';
import { EventErrors } from './errors.ts';
import { hubOf } from './hub.ts';
import { forgottenUpTo } from './retention.ts';
import type { StreamQuery } from './schema.ts';
import { subscriberOf } from './subscriber.ts';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

/** Streams of one service. */
interface Streams {
  readonly open: Set<StreamConnection>;
  /** Open ones and those that are being opened. */
  taken: number;
  closed: boolean;
}

const all = new WeakMap<Platform, Streams>();

export function streamsOf(platform: Platform): Streams {
  let streams = all.get(platform);
  if (!streams) {
    streams = { open: new Set(), taken: 0, closed: false };
    all.set(platform, streams);
  }
  return streams;
}

/** Ends every stream, so that clients connect again elsewhere, and opens none any more. */
export function closeStreams(platform: Platform): void {
  const streams = streamsOf(platform);
  streams.closed = true;
  for (const connection of [...streams.open]) connection.close();
}

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
 * Opens a stream (specification 4.7 and 6.2, contract 13). A place is taken before anything is waited for, so exactly
 * `events.maxConnections` get in. Who proves nothing gets one `error` event with status 200, as specified.
 */
export async function openStream(
  platform: Platform,
  call: Pick<Call<undefined, StreamQuery, undefined>, 'query' | 'request' | 'authenticateAs'>,
): Promise<Response> {
  if (!acceptsStream(call.request)) throw EventErrors.NOT_ACCEPTABLE();
  const streams = streamsOf(platform);
  const { maxConnections, heartbeatIntervalMs, eventTypes } = platform.config.events;
  if (streams.closed || streams.taken >= maxConnections) return tooMany();
  streams.taken++;
  let connection: StreamConnection | undefined;
  const release = (): void => {
    streams.taken--;
    if (connection) streams.open.delete(connection);
  };
  try {
    const subscriber = await subscriberOf(platform, call);
    const { after, gap } = await cursorOf(platform, call);
    const wanted = call.query.types;
    connection = new StreamConnection({
      hub: hubOf(platform),
      after,
      types: new Set(wanted ? eventTypes.filter((type) => wanted.includes(type)) : eventTypes),
      visibility: subscriber.visibility,
      heartbeatMs: heartbeatIntervalMs,
      expiresAt: subscriber.expiresAt,
      now: () => platform.clock.now(),
      prove: subscriber.prove,
      notice: gap
        ? { code: 'REPLAY_GAP', message: 'Events before the oldest one kept are gone: the replay begins there.' }
        : undefined,
      onClose: release,
    });
    streams.open.add(connection);
    // What ended while the stream was being opened is noticed now.
    connection.doubt();
    return new Response(connection.body, { status: 200, headers: HEADERS });
  } catch (error) {
    if (!connection) release();
    if (!(error instanceof LegateError) || (error.status !== 401 && error.status !== 403)) throw error;
    return new Response(errorEvent(error.status === 401 ? 'UNAUTHORIZED' : error.code, error.message), {
      status: 200,
      headers: HEADERS,
    });
  }
}

/** Where a stream begins: behind the event of Last-Event-ID, at `since`, or at the end of the ledger. */
async function cursorOf(
  platform: Platform,
  { query, request }: Pick<Call<undefined, StreamQuery, undefined>, 'query' | 'request'>,
): Promise<{ after: number; gap?: boolean }> {
  const id = request.headers.get('last-event-id') || query.lastEventId;
  if (id) {
    const seq = await seqOf(platform, id);
    return seq === undefined ? { after: 0, gap: true } : { after: seq, gap: seq < (await forgottenUpTo(platform)) };
  }
  if (query.since === undefined) return { after: await hubOf(platform).head() };
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

/** Sequence of an event by its id on the stream, an audit entry's own id included. */
async function seqOf(platform: Platform, id: string): Promise<number | undefined> {
  if (!isId('event', id) && !isId('audit', id)) return undefined;
  const body = id.slice(4);
  const around = timeOfId(id);
  return ((await platform.reader.byId(`evt_${body}`, around)) ?? (await platform.reader.byId(`aud_${body}`, around)))
    ?.seq;
}
