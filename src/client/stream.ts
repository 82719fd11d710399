import { LegateError } from './errors.ts';
import { type Answer, sleep } from './request.ts';
import type { StreamEvent, StreamQuery } from './types.ts';

export interface StreamOptions extends Omit<StreamQuery, 'types' | 'since' | 'ticks' | 'token' | 'ticket'> {
  readonly types?: readonly string[] | string | undefined;
  readonly since?: Date | string | undefined;
  /** Counts of decisions once a second, as notices of type `tick`. */
  readonly ticks?: boolean | undefined;
  /** Ends the stream. The loop over it then ends, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds without a byte after which the stream connects again. Must exceed the interval of heartbeats. */
  readonly idleTimeout?: number | undefined;
}

/**
 * A notice about the stream that is not in the ledger: `tick`, `skipped`, `draining` (the instance is about to stop;
 * the stream then connects again) or an `error` after which it continues.
 */
export interface StreamNotice {
  readonly id?: undefined;
  readonly type: 'tick' | 'skipped' | 'draining' | 'error';
  readonly data: Record<string, unknown>;
}

export type EventStream = AsyncGenerator<StreamEvent | StreamNotice, void, void>;

const MAX_WAIT_MS = 30_000;

/**
 * Yields events as they happen, over any number of connections. After a disconnect it waits as long as the server
 * advises and resumes after the last event (`Last-Event-ID`). Throws if the service refuses the credential or the
 * request.
 */
export async function* streamEvents(
  connect: (query: Record<string, unknown>, headers: Record<string, string>, signal: AbortSignal) => Promise<Answer>,
  { signal, idleTimeout = 90_000, lastEventId, ...query }: StreamOptions,
): EventStream {
  let last = lastEventId;
  let { since } = query;
  let wait = 2000;
  for (let failures = 0; !signal?.aborted; ) {
    const idle = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wake = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => idle.abort(), idleTimeout);
    };
    let pause = wait;
    try {
      const { response } = await connect(
        { ...query, since: last ? undefined : since },
        { accept: 'text/event-stream', ...(last && { 'last-event-id': last }) },
        signal ? AbortSignal.any([signal, idle.signal]) : idle.signal,
      );
      // Events between a disconnect before the first event and the next connection are not lost.
      since ??= dateOf(response);
      wake();
      for await (const frame of framesOf(response, wake)) {
        failures = 0;
        if (frame.retry !== undefined) pause = wait = frame.retry;
        if (frame.id) last = frame.id;
        if (frame.data === undefined) continue;
        const data = JSON.parse(frame.data);
        if (frame.id) yield data;
        else {
          if (frame.event === 'error' && /UNAUTHORIZED|FORBIDDEN/.test(data.code))
            throw new LegateError({ ...data, status: data.code === 'FORBIDDEN' ? 403 : 401 });
          yield { type: frame.event as StreamNotice['type'], data };
        }
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof LegateError) {
        const { status, retryAfter = 0 } = error;
        if (status >= 400 && status < 500 && status !== 429 && status !== 408) throw error;
        pause = Math.max(pause, retryAfter * 1000);
      }
    } finally {
      clearTimeout(timer);
      idle.abort();
    }
    pause = Math.max(pause, Math.min(wait * 2 ** failures++, MAX_WAIT_MS));
    await sleep(pause * (1 + Math.random() / 4), signal).catch(() => {});
  }
}

const dateOf = (response: Response): Date | undefined => {
  const date = response.headers.get('date');
  return date ? new Date(date) : undefined;
};

interface Frame {
  id?: string;
  event?: string;
  data?: string;
  retry?: number;
}

/** Yields the frames of an event stream (HTML, section 9.2.6). */
async function* framesOf(response: Response, onBytes: () => void): AsyncGenerator<Frame> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let frame: Frame = {};
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = lines.pop() as string;
      for (const line of lines) {
        const [, name, text = ''] = /^(\w+)(?:: ?(.*))?$/.exec(line) ?? [];
        if (line === '') {
          yield frame;
          frame = {};
        } else if (name === 'data') frame.data = frame.data === undefined ? text : `${frame.data}\n${text}`;
        else if (name === 'retry') frame.retry = Number(text);
        else if (name === 'id' || name === 'event') frame[name] = text;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
