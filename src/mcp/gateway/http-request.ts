import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https';
import type { Readable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import { constants, createBrotliDecompress, createUnzip } from 'node:zlib';
import { packageVersion } from '../../kernel/version.ts';
import { Ending } from './ending.ts';
import { OutcomeUnknown, ServerUnavailable } from './peer.ts';
import type { GatewayServer } from './servers-file.ts';

/** Time for which an idle connection is kept; servers keep them longer. */
const KEPT_MS = 4000;
const CONNECT_MS = 10_000;
const USER_AGENT = `legate/${packageVersion()}`;
/** Time that a server has to end an answer after all of it was sent. */
const END_MS = 200;

const agents = {
  http: new HttpAgent({ keepAlive: true, timeout: KEPT_MS }),
  https: new HttpsAgent({ keepAlive: true, timeout: KEPT_MS }),
};

/** Returns the token to send; after a refusal, a token other than the refused one. Throws {@link ServerUnavailable}. */
export type Bearer = (refused?: string) => Promise<string>;

/** The access of one person to a server. */
export interface Access {
  /** undefined: the credentials are in the configured headers or the address. */
  readonly bearer?: Bearer | undefined;
  /** Returns the error of a request whose credentials the server refuses. */
  readonly refused: () => Error;
}

interface Sent {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly message?: unknown;
  readonly end: Ending;
}

/** The answer of a server. The body must be read or discarded. */
export class ServerAnswer {
  readonly status: number;
  readonly #message: IncomingMessage;

  constructor(message: IncomingMessage) {
    this.#message = message;
    this.status = message.statusCode ?? 0;
    message.on('error', () => {});
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** The value of a header, whose name is in lower case. */
  header(name: string): string | undefined {
    const value = this.#message.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  isOf(type: string): boolean {
    return this.header('content-type')?.startsWith(type) ?? false;
  }

  /** The body, decoded (RFC 9110, section 8.4). */
  body(): Readable {
    const encoding = this.header('content-encoding') ?? 'identity';
    if (encoding === 'identity') return this.#message;
    // Each event of a stream is passed on when it arrives.
    const decoder =
      encoding === 'br'
        ? createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH })
        : createUnzip({ flush: constants.Z_SYNC_FLUSH });
    this.#message.once('close', () => {
      if (!this.#message.complete) decoder.destroy(new Error('the connection broke'));
    });
    return this.#message.pipe(decoder);
  }

  discard(): void {
    endSoon(this.#message);
  }
}

/**
 * Waits for the end of an answer, so that the connection can be used again, and closes the connection if more data
 * comes.
 */
export function endSoon(body: Readable): void {
  const end = (): void => {
    body.destroy();
  };
  const timer = setTimeout(end, END_MS).unref();
  body.once('data', end).once('close', () => clearTimeout(timer));
}

/**
 * Returns the function that sends requests to a server, with its configured headers and, if given, the access of a
 * person. Redirects are not followed, because headers may contain secrets. Throws {@link ServerUnavailable} and {@link
 * OutcomeUnknown}.
 */
export function senderTo({ headers: configured }: GatewayServer, access?: Access) {
  const common = Object.fromEntries(Object.entries(configured).map(([name, value]) => [name.toLowerCase(), value]));
  return (sent: Sent): Promise<ServerAnswer> => {
    const body = sent.message ? JSON.stringify(sent.message) : undefined;
    const once = (token: string | undefined): Promise<ServerAnswer> => {
      const headers = {
        'user-agent': USER_AGENT,
        'accept-encoding': 'identity',
        ...common,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...sent.headers,
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
        }),
      };
      return send(sent, headers, body);
    };
    return access ? withAccess(access, once) : once(undefined);
  };
}

async function withAccess(
  { bearer, refused }: Access,
  once: (token: string | undefined) => Promise<ServerAnswer>,
): Promise<ServerAnswer> {
  const token = await bearer?.();
  const first = await once(token);
  if (first.status !== 401) return first;
  // A request that was refused for its credentials did not run.
  first.discard();
  if (!bearer) throw refused();
  const second = await once(await bearer(token));
  if (second.status !== 401) return second;
  second.discard();
  throw refused();
}

export type Send = ReturnType<typeof senderTo>;

function send({ method, url, end }: Sent, headers: Record<string, string>, body?: string): Promise<ServerAnswer> {
  return new Promise((resolve, reject) => {
    let isConnected = false;
    let isAnswered = false;
    const fail = (error?: NodeJS.ErrnoException): void => {
      if (isAnswered) return;
      reject(
        isConnected
          ? new OutcomeUnknown('the connection broke')
          : new ServerUnavailable(`it cannot be reached: ${error?.code ?? 'no connection'}`),
      );
    };
    const receive = (message: IncomingMessage): void => {
      isAnswered = true;
      resolve(new ServerAnswer(message));
    };
    let request: ClientRequest;
    try {
      const isTls = url.startsWith('https:');
      const options = { ...placeOf(url), method, headers, agent: isTls ? agents.https : agents.http };
      request = (isTls ? httpsRequest : httpRequest)(options, receive);
    } catch (error) {
      fail(error as NodeJS.ErrnoException);
      return;
    }
    request.once('socket', (socket) => {
      isConnected = request.reusedSocket;
      if (isConnected) return;
      const tooLate = setTimeout(() => request.destroy(), CONNECT_MS);
      request.once('close', () => clearTimeout(tooLate));
      socket.once(url.startsWith('https:') ? 'secureConnect' : 'connect', () => {
        isConnected = true;
        clearTimeout(tooLate);
      });
    });
    request.on('error', fail);
    // A request that is destroyed before its answer may emit no error.
    request.once('close', () => fail());
    end.onEnd(() => request.destroy());
    request.end(body);
  });
}

/** The HTTP requests of one connection that are in progress. */
export class OpenRequests {
  readonly #open = new Set<Ending>();
  #ended = false;

  async during<T>(work: (own: Ending) => Promise<T>): Promise<T> {
    const own = new Ending();
    if (this.#ended) own.end();
    this.#open.add(own);
    try {
      return await work(own);
    } finally {
      this.#open.delete(own);
    }
  }

  end(): void {
    this.#ended = true;
    for (const own of this.#open) own.end();
  }
}

let lastPlace: { readonly url: string; readonly options: RequestOptions } | undefined;

/**
 * Returns an address in the form of node:http. The last one is cached, because most requests go to the same address.
 */
function placeOf(url: string): RequestOptions {
  if (lastPlace?.url !== url) {
    // The agent of node:http copies all options of each request.
    const { protocol, hostname, port, path, auth } = urlToHttpOptions(new URL(url)) as RequestOptions;
    lastPlace = { url, options: { protocol, hostname, port, path, ...(auth !== undefined && { auth }) } };
  }
  return lastPlace.options;
}

/** Throws the failure that corresponds to a status. */
export function failWith(answer: ServerAnswer): never {
  answer.discard();
  const message = `it answered with status ${answer.status}`;
  throw answer.status < 500 ? new ServerUnavailable(message) : new OutcomeUnknown(message);
}
