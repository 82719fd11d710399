import { randomUUID } from 'node:crypto';
import { isObject, type Message } from '../guard/json-rpc.ts';
import { ANSWER_MS, CANNOT_ANSWER, canAnswer, NOT_ANSWERED } from './client-requests.ts';
import { Ending } from './ending.ts';
import type { InputNeeded } from './forward.ts';
import { paramsPassedOn } from './messages.ts';
import type { Answer, Party, ServerRequest } from './peer.ts';

const MAX_PARKED = 1000;
const MAX_PARKED_OF_A_CALLER = 20;

interface Question {
  readonly method: string;
  readonly params: Message;
  readonly settle: (answer: Answer) => void;
}

/**
 * A request of a client of 2026-07-28 to a server of an earlier revision, which sends requests to the client while the
 * call is running. Each answer to the client ends a turn. It contains either the reply or the requests of the server.
 */
export class CallInTurns<Reply> implements Party {
  readonly client = this;
  /** Receives the progress that the server reports, in the turn that is open. */
  progress: (params: Message) => void = () => {};
  readonly #capabilities: Message;
  readonly #questions = new Map<string, Question>();
  /** Cancels the request at the server. */
  readonly cancelling = new Ending();
  #lastQuestion = 0;
  #reply: Promise<Reply> | undefined;
  #asks = (): void => {};

  constructor(capabilities: Message) {
    this.#capabilities = capabilities;
  }

  start(reply: Promise<Reply>): void {
    this.#reply = reply;
  }

  cancel(): void {
    this.cancelling.end();
  }

  ask({ method, params, signal }: ServerRequest): Promise<Answer> {
    if (!canAnswer(this.#capabilities, method, params)) return Promise.resolve(CANNOT_ANSWER);
    return new Promise((resolve) => {
      const key = `input-${++this.#lastQuestion}`;
      const settle = (answer: Answer): void => {
        if (!this.#questions.delete(key)) return;
        signal.off(giveUp);
        resolve(answer);
      };
      const giveUp = (): void => settle(NOT_ANSWERED);
      // `elicitationId` exists only in revisions up to 2025-11-25.
      const { elicitationId: _id, ...asked } = paramsPassedOn(params);
      this.#questions.set(key, { method, params: asked, settle });
      signal.onEnd(giveUp);
      // A server may send several requests at the same time.
      setImmediate(() => this.#asks());
    });
  }

  /** Answers the requests of the server. A request that the client did not answer is asked again. */
  answer(responses: unknown): void {
    if (!isObject(responses)) return;
    for (const [key, response] of Object.entries(responses))
      if (isObject(response)) this.#questions.get(key)?.settle({ result: response });
  }

  /**
   * Waits for the reply or for a request of the server. The call is cancelled if the client disconnects while waiting.
   */
  async turn(closed: Ending): Promise<{ readonly reply: Reply } | { readonly inputRequests: Message }> {
    const cancel = (): void => this.cancel();
    closed.onEnd(cancel);
    try {
      const asked = new Promise<{ inputRequests: Message }>((resolve) => {
        this.#asks = () => {
          if (this.#questions.size > 0) resolve({ inputRequests: this.#inputRequests() });
        };
        this.#asks();
      });
      const ended = (this.#reply as Promise<Reply>).then((reply) => ({ reply }));
      return await Promise.race([ended, asked]);
    } finally {
      this.#asks = () => {};
      // The response of this turn takes no further message.
      this.progress = () => {};
      closed.off(cancel);
    }
  }

  #inputRequests(): Message {
    return Object.fromEntries([...this.#questions].map(([key, { method, params }]) => [key, { method, params }]));
  }
}

/** The continuation of a call whose server asked a client of 2026-07-28 for input. */
export interface Continued {
  readonly auditId: string | undefined;
  readonly parked: string;
}

/**
 * A call that is still running, or one that is sent again with the input. The latter is kept too: its state alone would
 * be valid again on another instance or after a restart.
 */
export type Parked<Reply> =
  | CallInTurns<Reply>
  | { readonly repeat: InputNeeded['repeat']; readonly cancel: () => void };

interface Waiting<Call> {
  readonly call: Call;
  readonly caller: string;
  readonly timer: NodeJS.Timeout;
  /** Ends the check that the token is still valid. */
  readonly unwatch: () => void;
}

/** Calls that wait for the next turn. A call that waits too long, or whose token has ended, is cancelled. */
export class ParkedCalls<Call extends { cancel(): void }> {
  readonly #parked = new Map<string, Waiting<Call>>();

  /** `watch` calls its argument when the token has ended. Returns undefined if too many calls wait. */
  park(call: Call, caller: string, watch: (end: () => void) => () => void): string | undefined {
    const own = [...this.#parked.values()].filter((one) => one.caller === caller);
    if (this.#parked.size >= MAX_PARKED || own.length >= MAX_PARKED_OF_A_CALLER) {
      call.cancel();
      return undefined;
    }
    const id = randomUUID();
    const cancel = (): void => this.take(id)?.cancel();
    this.#parked.set(id, { call, caller, timer: setTimeout(cancel, ANSWER_MS).unref(), unwatch: watch(cancel) });
    return id;
  }

  /** Returns undefined if the call has ended, or runs on another instance. */
  take(id: string | undefined): Call | undefined {
    const parked = id === undefined ? undefined : this.#parked.get(id);
    if (id === undefined || !parked) return undefined;
    this.#parked.delete(id);
    clearTimeout(parked.timer);
    parked.unwatch();
    return parked.call;
  }

  clear(): void {
    for (const id of this.#parked.keys()) this.take(id)?.cancel();
  }
}
