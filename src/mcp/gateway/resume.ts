import type { Ending } from './ending.ts';
import { OutcomeUnknown } from './peer.ts';
import { type Position, StreamBroke } from './read-events.ts';
import type { ServerAnswer } from './server-answer.ts';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
const LEAST_PAUSE_MS = 10;
/** A stream that was open this long did not break at its start. */
const STABLE_MS = 60_000;
/** Failed requests in a row after which the answer counts as lost. */
const MAX_FAILURES = 3;

/** Requests the stream of a position with GET. */
export type Request = (headers: Record<string, string>) => Promise<ServerAnswer>;
/** Reads a stream to its end, or up to the awaited message, and returns whether that arrived. */
export type Read = (answer: ServerAnswer, position: Position) => Promise<boolean>;

const isStream = (answer: ServerAnswer): boolean => answer.ok && answer.isOf('text/event-stream');

const headersOf = ({ lastEventId }: Position): Record<string, string> =>
  lastEventId === undefined || lastEventId === '' ? {} : { 'last-event-id': lastEventId };

/** Waits for the time that the server has advised, or for one that doubles with each round. */
async function pause(end: Ending, { retryMs = FIRST_PAUSE_MS }: Position, round: number): Promise<void> {
  const waitMs = Math.min(Math.max(retryMs, LEAST_PAUSE_MS) * 2 ** Math.min(round, 15), LONGEST_PAUSE_MS);
  await new Promise<void>((resolve) => {
    const goOn = (): void => {
      clearTimeout(timer);
      end.off(goOn);
      resolve();
    };
    const timer = setTimeout(goOn, waitMs).unref();
    end.onEnd(goOn);
  });
}

/**
 * Reads the answer to a request. If its stream ends without the awaited message, and the server has given its events
 * ids, the rest is requested with `Last-Event-ID` (MCP 2025-11-25, transports): the request itself is not sent again.
 * Ends with the timeout of the request, which `end` signals. Throws {@link OutcomeUnknown}.
 */
export async function readResuming(first: ServerAnswer, request: Request, read: Read, end: Ending): Promise<boolean> {
  const position: Position = { emptyChars: 0 };
  const isResumable = (): boolean => Object.keys(headersOf(position)).length > 0 && !end.isEnded;
  let failures = 0;
  for (let stream: ServerAnswer | undefined = first, round = 0; ; round++) {
    const before = position.lastEventId;
    if (stream)
      try {
        if (await read(stream, position)) return true;
      } catch (error) {
        if (!(error instanceof StreamBroke && isResumable())) throw error;
      }
    if (!isResumable()) return false;
    if (position.lastEventId !== before) round = 0;
    await pause(end, position, round);
    if (end.isEnded) return false;
    stream = await request(headersOf(position)).catch(() => undefined);
    if (stream && isStream(stream)) {
      failures = 0;
      continue;
    }
    const isLost = stream !== undefined && stream.status < 500;
    stream?.discard();
    stream = undefined;
    if (isLost || ++failures === MAX_FAILURES) throw new OutcomeUnknown('its answer was lost');
  }
}

/**
 * Keeps the stream of notifications open until `end`, if the server offers one: requests it again after it broke or the
 * server closed it. Calls `opened` after the first request, and `missed` if notifications may have been lost because
 * the server does not give its events ids.
 */
export async function keepListening(
  { opened, missed }: { readonly opened: () => void; readonly missed: () => void },
  request: Request,
  read: Read,
  end: Ending,
): Promise<void> {
  const position: Position = {};
  for (let round = 0, isFirst = true; !end.isEnded; isFirst = false) {
    const begun = performance.now();
    const stream = await request(headersOf(position)).catch((error: unknown) => {
      if (isFirst) throw error;
    });
    opened();
    if (stream && isStream(stream)) {
      if (!isFirst && position.lastEventId === undefined) missed();
      try {
        await read(stream, position);
      } catch (error) {
        if (!(error instanceof StreamBroke)) throw error;
      }
    } else {
      stream?.discard();
      // A server without such a stream answers with 405, and one that has forgotten the session with 404.
      if (isFirst || (stream && stream.status < 500)) return;
    }
    if (performance.now() - begun > STABLE_MS) round = 0;
    await pause(end, position, round++);
  }
}
