import { createParser } from 'eventsource-parser';
import { afterEach } from 'vitest';
import type { Json, TestService } from './service.ts';

export interface Seen {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: Json;
}

/** An open event stream, read with an independent parser. */
export class Stream {
  readonly status: number;
  readonly headers: Headers;
  readonly seen: Seen[] = [];
  readonly comments: string[] = [];
  /** Everything that was received. */
  text = '';
  ended = false;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #waiting: (() => void)[] = [];

  constructor(response: Response) {
    this.status = response.status;
    this.headers = response.headers;
    this.#reader = response.body?.getReader();
    const parser = createParser({
      onEvent: ({ id, event, data }) => this.seen.push({ id, event, data: JSON.parse(data) }),
      onComment: (comment) => this.comments.push(comment),
    });
    const decoder = new TextDecoder();
    void (async () => {
      try {
        for (;;) {
          const { done, value } = (await this.#reader?.read()) ?? { done: true, value: undefined };
          if (done || !value) break;
          const text = decoder.decode(value, { stream: true });
          this.text += text;
          parser.feed(text);
          this.#told();
        }
      } catch {
        // An aborted stream also counts as ended.
      }
      this.ended = true;
      this.#told();
    })();
  }

  #told(): void {
    for (const tell of this.#waiting.splice(0)) tell();
  }

  /** Waits until the condition is true, at most 5 s. */
  async until(holds: () => boolean): Promise<void> {
    const deadline = performance.now() + 5000;
    while (!holds()) {
      if (performance.now() > deadline)
        throw new Error(
          `the stream has ${JSON.stringify(this.seen.map((s) => s.event))}${this.ended ? ' and has ended' : ''}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 50);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Waits for the first `n` events. */
  async events(n: number): Promise<Seen[]> {
    await this.until(() => this.seen.length >= n);
    return this.seen.slice(0, n);
  }

  async end(): Promise<void> {
    await this.until(() => this.ended);
  }

  async close(): Promise<void> {
    await this.#reader?.cancel().catch(() => {});
  }
}

/** Opens the stream and waits for its first bytes. */
export async function openStream(
  t: TestService,
  o: {
    as?: { token: string } | string;
    query?: Record<string, string> | string;
    headers?: Record<string, string>;
  } = {},
): Promise<Stream> {
  const token = typeof o.as === 'string' ? o.as : o.as?.token;
  const url = `http://localhost:3000/api/legate/events/stream?${new URLSearchParams(o.query)}`;
  const response = await t.legate.fetch(
    new Request(url, {
      headers: {
        accept: 'text/event-stream',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...o.headers,
      },
    }),
  );
  const stream = new Stream(response);
  await stream.until(() => stream.text !== '' || stream.ended);
  return stream;
}

/** Returns `openStream` with streams that are closed after each test of the file that calls this. */
export function streamsOfTests(): typeof openStream {
  const opened: Stream[] = [];
  afterEach(async () => {
    for (const stream of opened.splice(0)) await stream.close();
  });
  return async (...args) => {
    const stream = await openStream(...args);
    opened.push(stream);
    return stream;
  };
}
