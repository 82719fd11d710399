import { InProgress } from '../../kernel/in-progress.ts';
import { isMessageId, isObject, isTooDeep, type Message, type RpcError } from '../guard/json-rpc.ts';
import { Ending } from './ending.ts';

/** The answer of a server. */
export type Answer = { readonly result: Message } | { readonly error: RpcError };

/** The server cannot be reached, so the request did not run. */
export class ServerUnavailable extends Error {}
/** No connection was opened for this person, because their credentials are missing or their account is suspended. */
export class NotConnected extends ServerUnavailable {}
/** The server has forgotten the session, so it did not carry out the request. */
export class SessionEnded extends ServerUnavailable {}
/** Too much input waits for the server, so the request was not sent. */
export class InputNotRead extends ServerUnavailable {}
/** The connection broke while the request was running. */
export class OutcomeUnknown extends Error {}
/** The client cancelled the request while it was running. */
export class RequestCancelled extends OutcomeUnknown {}
export class CallTimedOut extends Error {}

export interface ChannelEvents {
  /** `during` is the id of the request whose response carried the message, if the transport knows it. */
  message(message: unknown, during?: unknown): void;
  ended(error: Error): void;
}

/** Carries messages to a server. */
export interface Channel {
  /** Rejects with {@link ServerUnavailable} or {@link OutcomeUnknown} if a message, or an answer to it, was lost. */
  send(message: Message, headers?: Record<string, string>): Promise<void>;
  /** With `atOnce`, a process is killed without time to end by itself. */
  close(atOnce?: boolean): Promise<void>;
}

export type OpenChannel = (events: ChannelEvents) => Channel;

/** Returns a channel that carries messages once the given promise of a channel resolves. */
export const openLater =
  (opening: Promise<OpenChannel>): OpenChannel =>
  (events) => {
    let closed = false;
    const channel = opening.then((open) => {
      if (closed) throw new ServerUnavailable('it was closed');
      return open(events);
    });
    channel.catch(() => {});
    return {
      send: async (message, headers) => (await channel).send(message, headers),
      close: async (atOnce) => {
        closed = true;
        await channel.then(
          (opened) => opened.close(atOnce),
          () => {},
        );
      },
    };
  };

/** A request of the server to its client. */
export interface ServerRequest {
  readonly method: string;
  readonly params: Message;
  /** Fires when the server cancels its request or the answer is no longer needed. */
  readonly signal: Ending;
}

/** Answers the requests that the server makes while a request of one client is running. */
export interface Party {
  /** Identifies the client: the same object for all its requests. */
  readonly client: object;
  ask(request: ServerRequest): Promise<Answer>;
}

interface Pending {
  readonly settle: (answer: Answer | Error) => void;
  readonly progress: ((params: Message) => void) | undefined;
  readonly party: Party | undefined;
  readonly heard: RequestOptions['heard'];
  /** Requests of the server that belong to this request. */
  readonly asked: Set<Ending>;
  /** Pauses the timeout of the request while the server waits for its client. */
  readonly pause: () => () => void;
  /** Resolves when the server was told that the request is cancelled. */
  cancelled?: Promise<void>;
}

export interface RequestOptions {
  readonly timeoutMs: number;
  /** Cancels the request at the server. */
  readonly signal?: Ending | undefined;
  readonly progress?: ((params: Message) => void) | undefined;
  /** Capabilities of the client, for servers that read them in each request. */
  readonly capabilities?: Message | undefined;
  /** Headers for a server over HTTP. */
  readonly headers?: Record<string, string> | undefined;
  /** undefined: a request of the gateway itself, during which the server may not send requests. */
  readonly party?: Party | undefined;
  /**
   * Receives the notifications that name this request. Returns whether the request counts as a stream from now on. A
   * stream has no timeout.
   */
  readonly heard?: ((method: string, params: Message) => boolean) | undefined;
}

export interface PeerEvents {
  /** `client` made the request during which the notification arrived, if the transport knows it. */
  readonly notified?: (method: string, params: Message, client: object | undefined) => void;
  readonly ended?: (error: Error) => void;
}

/** Requests that a server may send to its client. */
export interface Askable {
  readonly methods: ReadonlySet<string>;
  /**
   * Whether a request of the server without a known request of a client is sent to the only client with a running
   * request. false if several people share the connection.
   */
  readonly unassigned: boolean;
}

const NOTHING: Askable = { methods: new Set(), unassigned: false };
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const METHOD_NOT_FOUND = -32601;
const INVALID_REQUEST = -32600;
const INTERNAL_ERROR = -32603;
/** Requests of a server that wait for an answer at the same time, during one request of a client. */
export const MAX_ASKED = 10;

/**
 * The client side of one connection. Numbers requests itself, so that the ids and progress tokens of several callers
 * cannot collide at the server.
 */
export class Peer {
  readonly #channel: Channel;
  readonly #pending = new InProgress<Pending>();
  readonly #asked = new Map<unknown, Ending>();
  readonly #notified: NonNullable<PeerEvents['notified']>;
  readonly #onEnd: (error: Error) => void;
  readonly #askable: Askable;
  /** Metadata of each request in revisions without a session: the revision and the client. */
  envelope: Message | undefined;
  #lastId = 0;
  #ended: Error | undefined;

  constructor(open: OpenChannel, on: PeerEvents = {}, askable = NOTHING) {
    this.#notified = on.notified ?? (() => {});
    this.#onEnd = on.ended ?? (() => {});
    this.#askable = askable;
    this.#channel = open({
      message: (message, during) => this.#receive(message, during),
      ended: (error) => this.#end(error),
    });
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  request(method: string, params: Message, options: RequestOptions): Promise<Answer> {
    const { timeoutMs, signal, progress, party, heard } = options;
    return new Promise<Answer>((resolve, reject) => {
      if (this.#ended) return reject(new ServerUnavailable(this.#ended.message));
      if (signal?.isEnded) return reject(new RequestCancelled('it was cancelled'));
      const id = ++this.#lastId;
      const asked = new Set<Ending>();
      const settle = (answer: Answer | Error): void => {
        if (!this.#pending.delete(id)) return;
        clearTimeout(timer);
        signal?.off(cancel);
        for (const one of asked) one.end();
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      };
      const giveUp = (error: Error, reason: string): void => {
        settle(error);
        pending.cancelled = this.#notify('notifications/cancelled', { requestId: id, reason });
      };
      const cancel = (): void => giveUp(new RequestCancelled('it was cancelled'), 'cancelled');
      const startClock = (): NodeJS.Timeout =>
        setTimeout(() => giveUp(new CallTimedOut('it did not answer in time'), 'timeout'), timeoutMs);
      let timer = startClock();
      let paused = 0;
      const pause = (): (() => void) => {
        clearTimeout(timer);
        paused++;
        return () => {
          if (--paused === 0 && this.#pending.has(id)) timer = startClock();
        };
      };
      const pending: Pending = { settle, progress, party, heard, asked, pause };
      this.#pending.set(id, pending);
      signal?.onEnd(cancel);
      const message = { jsonrpc: '2.0', id, method, params: this.#paramsOf(params, id, options) };
      this.#channel.send(message, options.headers).catch(settle);
    });
  }

  #paramsOf(params: Message, id: number, { progress, capabilities = {} }: RequestOptions): Message {
    if (!progress && !this.envelope) return params;
    const meta = {
      ...(params['_meta'] as object),
      ...(progress && { progressToken: id }),
      ...(this.envelope && { ...this.envelope, [CLIENT_CAPABILITIES]: capabilities }),
    };
    return { ...params, _meta: meta };
  }

  notify(method: string, params?: Message): void {
    void this.#notify(method, params);
  }

  /** Resolves when it is sent. A notification has no answer, so its loss cannot be reported. */
  #notify(method: string, params?: Message): Promise<void> {
    return this.#channel.send({ jsonrpc: '2.0', method, ...(params && { params }) }).catch(() => {});
  }

  close(atOnce = false): Promise<void> {
    this.#end(new Error('it was closed'));
    return this.#channel.close(atOnce);
  }

  #end(error: Error): void {
    if (this.#ended) return;
    this.#ended = error;
    for (const { settle } of this.#pending.values()) settle(new OutcomeUnknown(error.message));
    for (const asked of this.#asked.values()) asked.end();
    this.#onEnd(error);
  }

  #receive(message: unknown, during: unknown): void {
    if (!isObject(message)) return;
    const { id, method, result, error } = message;
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined;
    if (isTooDeep(message)) {
      // It could not be passed on. A request of the server is not answered, because its id may be what is so deep.
      if (method === undefined) pending?.settle(new OutcomeUnknown('its answer is nested too deeply'));
      return;
    }
    const params = isObject(message['params']) ? message['params'] : {};
    if (typeof method === 'string') {
      if (id !== undefined) void this.#answerServer(id, method, params, during);
      else if (method === 'notifications/progress') this.#named(params['progressToken'])?.progress?.(params);
      else if (method === 'notifications/cancelled') this.#asked.get(params['requestId'])?.end();
      else if (isObject(params['_meta']) && SUBSCRIPTION_ID in params['_meta'])
        this.#heard(method, params, this.#named(params['_meta'][SUBSCRIPTION_ID]));
      else this.#notified(method, params, this.#named(during)?.party?.client);
      return;
    }
    if (isObject(error)) pending?.settle({ error: error as unknown as RpcError });
    else if (isObject(result)) pending?.settle({ result });
    else pending?.settle(new OutcomeUnknown('its answer has no result'));
  }

  /** Returns a request by its id, which some servers return as text. */
  #named(id: unknown): Pending | undefined {
    return isMessageId(id) ? this.#pending.get(Number(id)) : undefined;
  }

  /** A notification of a stream that does not exist or has ended is dropped. */
  #heard(method: string, params: Message, pending: Pending | undefined): void {
    if (pending?.heard?.(method, params)) pending.pause();
  }

  async #answerServer(id: unknown, method: string, params: Message, during: unknown): Promise<void> {
    const call = method === 'ping' ? undefined : this.#pendingOf(during);
    const answer = method === 'ping' ? { result: {} } : await this.#ask(id, method, params, call);
    // A server that learns of the answer before the end of its call would continue with the call.
    await call?.cancelled;
    if (!this.#ended) this.#channel.send({ jsonrpc: '2.0', id, ...answer }).catch(() => {});
  }

  async #ask(id: unknown, method: string, params: Message, pending: Pending | undefined): Promise<Answer> {
    if (!this.#askable.methods.has(method)) return refused(METHOD_NOT_FOUND, 'Method not found');
    if (this.#asked.has(id)) return refused(INVALID_REQUEST, 'A request with this id is waiting for an answer.');
    if (!pending?.party)
      return refused(INVALID_REQUEST, 'It is not clear for which client this is. No client was asked.');
    if (pending.asked.size >= MAX_ASKED)
      return refused(INVALID_REQUEST, 'Too many requests are waiting for an answer.');
    const cancelling = new Ending();
    this.#asked.set(id, cancelling);
    pending.asked.add(cancelling);
    const resume = pending.pause();
    try {
      return await pending.party.ask({ method, params, signal: cancelling });
    } catch {
      return refused(INTERNAL_ERROR, 'The client did not answer.');
    } finally {
      this.#asked.delete(id);
      pending.asked.delete(cancelling);
      resume();
    }
  }

  /**
   * Returns the client request to which a request of the server belongs; undefined if there are several candidates or
   * none.
   */
  #pendingOf(during: unknown): Pending | undefined {
    if (during !== undefined) return this.#named(during);
    if (!this.#askable.unassigned) return undefined;
    const [first, ...others] = [...this.#pending.values()].filter(({ party }) => party);
    return others.every(({ party }) => party?.client === first?.party?.client) ? first : undefined;
  }
}

const refused = (code: number, message: string): Answer => ({ error: { code, message } });
