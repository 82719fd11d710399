import { Agent, request } from 'node:http';
import type { Json } from '../support/service.ts';
import type { Instance } from './cluster.ts';
import type { Cap, Operation } from './history.ts';

export interface Answer {
  /** 0 if no response arrived. */
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
  readonly text: string;
}

export interface Message {
  readonly method?: string;
  readonly path: string;
  readonly token?: string | undefined;
  readonly body?: object | undefined;
  readonly raw?: string | undefined;
  readonly headers?: Record<string, string> | undefined;
}

const TIMEOUT_MS = 20_000;
const NO_ANSWER: Answer = { status: 0, headers: new Headers(), body: undefined, text: '' };

/** Sends requests to the instances, and records when each began, when it ended, and what it means. */
export class Recorder {
  readonly operations: Operation[] = [];
  readonly caps: Cap[] = [];
  readonly #instances: readonly Instance[];
  readonly #http = new Agent({ keepAlive: true, maxSockets: 200 });

  constructor(instances: readonly Instance[]) {
    this.#instances = instances;
  }

  /** Sends a request to an instance and records the result of `meaning` for the response. */
  async send(number: number, message: Message, meaning: (answer: Answer) => Operation['what']): Promise<Answer> {
    const startedAt = performance.now();
    const url = this.#instances[number]?.url;
    const answer = url === undefined ? NO_ANSWER : await this.#request(url, message);
    const endedAt = performance.now();
    const status = answer.status || undefined;
    this.operations.push({ startedAt, endedAt, instance: number, status, what: meaning(answer) });
    // An instance that is down refuses immediately, so the client waits a little, as a real one would.
    if (answer.status === 0 || answer.status === 503) await new Promise((resolve) => setTimeout(resolve, 20));
    return answer;
  }

  close(): void {
    this.#http.destroy();
  }

  #request(url: string, { method = 'POST', path, token, body, raw, headers }: Message): Promise<Answer> {
    return new Promise((resolve) => {
      const failed = (): void => resolve(NO_ANSWER);
      const text = raw ?? (body ? JSON.stringify(body) : undefined);
      const req = request(
        `${url}${path}`,
        {
          method,
          agent: this.#http,
          timeout: TIMEOUT_MS,
          headers: {
            ...(body ? { 'content-type': 'application/json' } : {}),
            ...(token ? { authorization: `Bearer ${token}` } : {}),
            ...(text === undefined ? {} : { 'content-length': Buffer.byteLength(text) }),
            ...headers,
          },
        },
        (res) => {
          let out = '';
          res.setEncoding('utf8');
          res.on('data', (chunk: string) => (out += chunk));
          res.on('error', failed);
          res.on('aborted', failed);
          res.on('end', () => resolve(answerOf(res.statusCode ?? 0, res.headers, out)));
        },
      );
      req.on('timeout', () => req.destroy());
      req.on('error', failed);
      req.end(text);
    });
  }
}

function answerOf(status: number, headers: NodeJS.Dict<string | string[]>, text: string): Answer {
  const kept = new Headers();
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) kept.set(name, String(value));
  let body: Json;
  try {
    body = text === '' ? undefined : JSON.parse(text);
  } catch {
    body = undefined;
  }
  return { status, headers: kept, body, text };
}
