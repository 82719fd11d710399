import { isObject, type Message, type RpcError } from '../guard/json-rpc.ts';

/** The answer of a server. */
export type Answer = { readonly result: Message } | { readonly error: RpcError };

/** The server cannot be reached, so the request did not run. */
export class ServerUnavailable extends Error {}
/** Nothing was opened for this person: their credentials are missing, or their account is suspended. */
export class NotConnected extends ServerUnavailable {}
/** The connection broke while the request was running. */
export class OutcomeUnknown extends Error {}
export class CallTimedOut extends Error {}

export interface ChannelEvents {
  message(message: unknown): void;
  ended(error: Error): void;
}

/** Carries messages to a server. */
export interface Channel {
  /** Rejects with {@link ServerUnavailable} or {@link OutcomeUnknown} if a message, or an answer to it, was lost. */
  send(message: Message): Promise<void>;
  /** With `atOnce`, a process has no time to end by itself. */
  close(atOnce?: boolean): Promise<void>;
}

export type OpenChannel = (events: ChannelEvents) => Channel;

/** Returns a channel that carries messages as soon as it is known how to open it. */
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
      send: async (message) => (await channel).send(message),
      close: async (atOnce) => {
        closed = true;
        await channel.then(
          (opened) => opened.close(atOnce),
          () => {},
        );
      },
    };
  };

interface Pending {
  readonly settle: (answer: Answer | Error) => void;
  readonly progress: ((params: Message) => void) | undefined;
}

export interface RequestOptions {
  readonly timeoutMs: number;
  /** Cancels the request at the server. */
  readonly signal?: AbortSignal | undefined;
  readonly progress?: ((params: Message) => void) | undefined;
}

const METHOD_NOT_FOUND = -32601;

/**
 * The client side of one connection. Numbers requests itself, so that the ids and progress tokens of several callers
 * never meet at the server.
 */
export class Peer {
  readonly #channel: Channel;
  readonly #pending = new Map<number, Pending>();
  readonly #notified: (method: string, params: Message) => void;
  readonly #onEnd: (error: Error) => void;
  #lastId = 0;
  #ended: Error | undefined;

  constructor(
    open: OpenChannel,
    on: { notified?: (method: string, params: Message) => void; ended?: (error: Error) => void } = {},
  ) {
    this.#notified = on.notified ?? (() => {});
    this.#onEnd = on.ended ?? (() => {});
    this.#channel = open({ message: (message) => this.#receive(message), ended: (error) => this.#end(error) });
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  request(method: string, params: Message, { timeoutMs, signal, progress }: RequestOptions): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#ended) return reject(new ServerUnavailable(this.#ended.message));
      const id = ++this.#lastId;
      const settle = (answer: Answer | Error): void => {
        if (!this.#pending.delete(id)) return;
        clearTimeout(timer);
        signal?.removeEventListener('abort', cancel);
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      };
      const giveUp = (error: Error, reason: string): void => {
        settle(error);
        this.notify('notifications/cancelled', { requestId: id, reason });
      };
      const cancel = (): void => giveUp(new OutcomeUnknown('it was cancelled'), 'cancelled');
      const timer = setTimeout(() => giveUp(new CallTimedOut('it did not answer in time'), 'timeout'), timeoutMs);
      this.#pending.set(id, { settle, progress });
      signal?.addEventListener('abort', cancel, { once: true });
      const meta = progress ? { _meta: { ...(params['_meta'] as object), progressToken: id } } : {};
      this.#channel.send({ jsonrpc: '2.0', id, method, params: { ...params, ...meta } }).catch(settle);
    });
  }

  notify(method: string, params?: Message): void {
    // A notification has no answer, so nobody could be told that it was lost.
    this.#channel.send({ jsonrpc: '2.0', method, ...(params && { params }) }).catch(() => {});
  }

  close(atOnce = false): Promise<void> {
    this.#end(new Error('it was closed'));
    return this.#channel.close(atOnce);
  }

  #end(error: Error): void {
    if (this.#ended) return;
    this.#ended = error;
    for (const { settle } of this.#pending.values()) settle(new OutcomeUnknown(error.message));
    this.#onEnd(error);
  }

  #receive(message: unknown): void {
    if (!isObject(message)) return;
    const { id, method, result, error } = message;
    const params = isObject(message['params']) ? message['params'] : {};
    if (typeof method === 'string') {
      if (id !== undefined) this.#answerServer(id, method);
      else if (method === 'notifications/progress')
        this.#pending.get(Number(params['progressToken']))?.progress?.(params);
      else this.#notified(method, params);
      return;
    }
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined;
    if (isObject(error)) pending?.settle({ error: error as unknown as RpcError });
    else if (isObject(result)) pending?.settle({ result });
    else pending?.settle(new OutcomeUnknown('its answer has no result'));
  }

  /** No capability is declared, so `ping` is the only request that a server may make. */
  #answerServer(id: unknown, method: string): void {
    const error = { code: METHOD_NOT_FOUND, message: 'Method not found' };
    const answer = method === 'ping' ? { result: {} } : { error };
    this.#channel.send({ jsonrpc: '2.0', id, ...answer }).catch(() => {});
  }
}
