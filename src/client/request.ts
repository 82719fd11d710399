import { LegateError } from './errors.ts';
import type { RequestOptions } from './request-options.ts';

export type Query = Readonly<Record<string, unknown>>;

export interface Outgoing {
  readonly method: string;
  readonly url: URL;
  /** JSON, or a form if it is URLSearchParams. */
  readonly body?: unknown;
  /** Returns the answer with its body unread. */
  readonly raw?: boolean;
  readonly options?: RequestOptions | undefined;
}

export interface Answer {
  readonly response: Response;
  /** undefined: no body, or not yet read. */
  readonly data: unknown;
}

export interface TransportOptions {
  readonly token?: string | undefined;
  readonly getToken?: (() => string | undefined | Promise<string | undefined>) | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly timeout?: number | undefined;
  readonly retries?: number | undefined;
}

/** A longer wait is left to the caller. */
const MAX_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 250;

const etags = new WeakMap<object, string>();

/** Returns the ETag with which the client received an object, for `ifMatch`. */
export const etagOf = (answer: object): string | undefined => etags.get(answer);

/** Returns 128 random bits. `crypto.randomUUID` is missing on pages without https. */
const randomId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Waits, or throws the reason of the signal. */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });

/** Sends requests, repeats those that may be repeated, and turns refusals into errors. */
export class Transport {
  readonly #o: TransportOptions;

  constructor(options: TransportOptions) {
    this.#o = options;
  }

  /** Throws a LegateError, or the reason of the signal. */
  async send(request: Outgoing): Promise<Answer> {
    const { method, options = {} } = request;
    const retries = options.retries ?? this.#o.retries ?? 2;
    const form = request.body instanceof URLSearchParams;
    const key = method === 'POST' && !form && (options.idempotencyKey ?? (retries > 0 ? randomId() : undefined));
    const repeatable = key || ['GET', 'PUT', 'DELETE'].includes(method);
    const ifMatch = typeof options.ifMatch === 'object' ? etagOf(options.ifMatch) : options.ifMatch;
    if (options.ifMatch && !ifMatch) throw new TypeError('ifMatch: this object has no ETag');
    const headers: Record<string, string> = {
      'x-request-id': options.requestId ?? randomId(),
      ...(key && { 'idempotency-key': key }),
      ...(ifMatch && { 'if-match': ifMatch }),
      ...(request.body === undefined || form ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    };
    // Outside of the loop, because only failures of the network are tried again.
    const body = form || request.body === undefined ? request.body : JSON.stringify(request.body);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt({ ...request, body }, headers);
      } catch (error) {
        const wait =
          error instanceof LegateError && repeatable && attempt < retries ? waitFor(error, attempt) : undefined;
        if (wait === undefined) throw error;
        await sleep(wait, options.signal);
      }
    }
  }

  async #attempt({ method, url, body, raw, options = {} }: Outgoing, headers: Record<string, string>): Promise<Answer> {
    const token = this.#o.getToken ? await this.#o.getToken() : this.#o.token;
    const { signal } = options;
    signal?.throwIfAborted();
    const timedOut = new AbortController();
    const timer = setTimeout(() => timedOut.abort(), options.timeout ?? this.#o.timeout ?? 30_000);
    try {
      const response = await (this.#o.fetch ?? fetch)(url, {
        method,
        headers: token && !headers['authorization'] ? { ...headers, authorization: `Bearer ${token}` } : headers,
        signal: signal ? AbortSignal.any([signal, timedOut.signal]) : timedOut.signal,
        ...(body === undefined ? {} : { body: body as BodyInit }),
      });
      if (raw && response.ok) return { response, data: undefined };
      return { response, data: parse(response, await response.text(), headers['x-request-id']) };
    } catch (cause) {
      if (cause instanceof LegateError) throw cause;
      signal?.throwIfAborted();
      throw new LegateError({
        ...(timedOut.signal.aborted
          ? { code: 'TIMEOUT', message: `No answer to ${method} ${url.pathname} in time` }
          : { code: 'NETWORK_ERROR', message: `${method} ${url.origin}${url.pathname} failed: ${messageOf(cause)}` }),
        status: 0,
        requestId: headers['x-request-id'],
        cause,
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * The message of `fetch` is often only "fetch failed". Its cause has a code and no message if all addresses refused.
 */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, code } = (error.cause ?? {}) as { message?: string; code?: string };
  return message || code || error.message;
}

/** Returns the data of an answer. Throws its error. */
function parse(response: Response, text: string, sentId: string | undefined): unknown {
  const { status, headers } = response;
  // biome-ignore lint/suspicious/noExplicitAny: the body of an error is JSON of any form.
  let data: any;
  try {
    data = text === '' ? undefined : JSON.parse(text);
  } catch {
    data = null;
  }
  if (response.ok && data !== null) {
    const etag = headers.get('etag');
    if (etag && typeof data === 'object') etags.set(data, etag);
    return data;
  }
  // OAuth endpoints have errors of RFC 6749: a code and a description.
  const error = data?.error;
  const retryAfter = Number.parseInt(headers.get('retry-after') ?? '', 10);
  throw new LegateError({
    status,
    code: error?.code ?? (typeof error === 'string' ? error : response.ok ? 'INVALID_ANSWER' : `HTTP_${status}`),
    message: error?.message ?? data?.error_description ?? `The answer has status ${status} and is not of Legate`,
    details: error?.details,
    requestId: headers.get('x-request-id') ?? sentId,
    retryAfter: Number.isNaN(retryAfter) ? undefined : retryAfter,
  });
}

/** Returns milliseconds until the next attempt; Returns undefined if another attempt would be useless. */
function waitFor({ status, code, retryAfter }: LegateError, attempt: number): number | undefined {
  const temporary =
    status >= 500 || status === 429 || status === 408 || code === 'IDEMPOTENCY_IN_PROGRESS' || status === 0;
  if (!temporary) return undefined;
  const jitter = 0.5 + Math.random() / 2;
  const wait = retryAfter ? retryAfter * 1000 + FIRST_WAIT_MS * jitter : FIRST_WAIT_MS * 2 ** attempt * jitter;
  return wait <= MAX_WAIT_MS ? wait : undefined;
}
