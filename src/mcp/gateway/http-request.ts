import { createRequire } from 'node:module';
import type { Client, Dispatcher } from 'undici';
import { InProgress } from '../../kernel/in-progress.ts';
import { packageVersion } from '../../kernel/version.ts';
import { OpenRequest } from './open-request.ts';
import { OutcomeUnknown, ServerUnavailable } from './peer.ts';
import { ServerAnswer } from './server-answer.ts';
import type { GatewayServer } from './servers-file.ts';

/** Time for which an idle connection is kept; servers keep them longer. */
const KEPT_MS = 4000;
const CONNECT_MS = 10_000;
const USER_AGENT = `legate/${packageVersion()}`;
/** Headers of one connection or one body, which undici writes itself. */
const OF_A_HOP: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

const load = createRequire(import.meta.url);

/** The connections to one origin. Each carries one request at a time. */
class Connections {
  readonly #origin: string;
  readonly #Connection: typeof Client;
  readonly #all = new Set<Client>();
  /** The connection that was used last is the last one. */
  readonly #idle: Client[] = [];

  constructor(origin: string) {
    this.#origin = origin;
    // Only this part of undici is loaded, and only when it is needed: undici as a whole would also replace the
    // connections of the global `fetch`.
    this.#Connection = load('undici/lib/dispatcher/client.js') as typeof Client;
  }

  take(): Client {
    return this.#idle.pop() ?? this.#open();
  }

  give(connection: Client): void {
    this.#idle.push(connection);
  }

  #open(): Client {
    const connection = new this.#Connection(this.#origin, {
      connectTimeout: CONNECT_MS,
      keepAliveTimeout: KEPT_MS,
      keepAliveMaxTimeout: KEPT_MS,
      // Requests have timeouts of their own, and streams have none.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#all.add(connection);
    return connection;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((connection) => connection.destroy()));
  }
}

/** Returns the token to send; after a refusal, a token other than the refused one. Throws {@link ServerUnavailable}. */
export type Bearer = (refused?: string) => Promise<string>;

/** The access of one person to a server. */
export interface Access {
  /** undefined: the credentials are in the configured headers or the address. */
  readonly bearer?: Bearer | undefined;
  /** Returns the error of a request whose credentials the server refuses. */
  readonly refused: () => Error;
  /** Returns the error of a request for which the credentials lack scopes, which the challenge may name. */
  readonly insufficient: (challenge: string) => Promise<Error>;
}

interface Sent {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly message?: unknown;
  readonly end: OpenRequest;
}

/** Sends the requests of one channel to a server, over connections of its own. */
export interface Sender {
  /** Redirects are not followed, because headers may contain secrets. */
  send(sent: Sent): Promise<ServerAnswer>;
  /** Ends the connections. */
  close(): Promise<void>;
}

/** Returns path and query of an address. */
export const pathOf = (url: string): string => {
  const { pathname, search } = new URL(url);
  return pathname + search;
};

/**
 * Sends requests to the origin of an address, with the configured headers of the server and, if given, the access of a
 * person. `send` throws {@link ServerUnavailable} and {@link OutcomeUnknown}.
 */
export function senderTo({ headers: configured }: GatewayServer, url: string, access?: Access): Sender {
  const connections = new Connections(new URL(url).origin);
  const common = { 'user-agent': USER_AGENT, 'accept-encoding': 'identity', ...basicOf(url), ...lowerCase(configured) };
  const ofMessages = { ...common, 'content-type': 'application/json' };
  const send = ({ method, path, headers, message, end }: Sent, token?: string): Promise<ServerAnswer> =>
    new Promise((resolve, reject) => {
      // It may have waited for a token.
      if (end.isEnded || end.isCancelled) return reject(new ServerUnavailable('the request was ended'));
      end.isSent = true;
      const connection = connections.take();
      const finished = (): void => connections.give(connection);
      const answer = new ServerAnswer({ answered: resolve, failed: reject, finished });
      const options: Dispatcher.DispatchOptions = {
        method,
        path,
        body: message === undefined ? null : JSON.stringify(message),
        headers: Object.assign(
          {},
          message === undefined ? common : ofMessages,
          token !== undefined && { authorization: `Bearer ${token}` },
          headers,
        ),
      };
      connection.dispatch(options, answer);
      end.onEnd(() => answer.close());
    });
  return {
    send: access ? (sent) => withAccess(access, (token) => send(sent, token)) : send,
    close: () => connections.close(),
  };
}

/** The name and password of an address (RFC 7617). */
function basicOf(url: string): { readonly authorization?: string } {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]): [string, string] => [name.toLowerCase(), value])
      .filter(([name]) => !OF_A_HOP.has(name)),
  );

async function withAccess(
  { bearer, refused, insufficient }: Access,
  once: (token: string | undefined) => Promise<ServerAnswer>,
): Promise<ServerAnswer> {
  const token = await bearer?.();
  let answer = await once(token);
  if (answer.status === 401 && bearer) {
    // A request that was refused for its credentials did not run.
    answer.discard();
    answer = await once(await bearer(token));
  }
  const challenge = answer.header('www-authenticate') ?? '';
  const lacksScopes = answer.status === 403 && /\berror="?insufficient_scope\b/i.test(challenge);
  if (answer.status !== 401 && !lacksScopes) return answer;
  answer.discard();
  throw lacksScopes ? await insufficient(challenge) : refused();
}

/** The HTTP requests of one connection that are in progress. */
export class OpenRequests {
  readonly #open = new InProgress<OpenRequest>();
  #last = 0;
  #ended = false;

  /** With a limit, the request ends after this time. */
  async during<T>(work: (own: OpenRequest) => Promise<T>, limitMs?: number): Promise<T> {
    const own = this.begin();
    const tooLate = limitMs === undefined ? undefined : setTimeout(() => own.end(), limitMs).unref();
    try {
      return await work(own);
    } finally {
      clearTimeout(tooLate);
      this.done(own);
    }
  }

  begin(): OpenRequest {
    const own = new OpenRequest(++this.#last);
    if (this.#ended) own.end();
    this.#open.set(own.number, own);
    return own;
  }

  done({ number }: OpenRequest): void {
    this.#open.delete(number);
  }

  end(): void {
    this.#ended = true;
    for (const own of this.#open.values()) own.end();
  }
}

/** Throws the failure that corresponds to a status. */
export function failWith(answer: ServerAnswer): never {
  answer.discard();
  const message = `it answered with status ${answer.status}`;
  throw answer.status < 500 ? new ServerUnavailable(message) : new OutcomeUnknown(message);
}
