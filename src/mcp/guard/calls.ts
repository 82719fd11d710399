import { AskPerson, INVALID_STATE } from './ask-person.ts';
import type { Ask, Question } from './asks.ts';
import { cutLists, LIST_METHODS } from './cut-lists.ts';
import { type Decisions, decisionsOf, type Origin, Undecidable } from './decisions.ts';
import type { AnswerRules } from './filter-answer.ts';
import type { Decision, GuardOptions, McpAuth } from './guard-options.ts';
import { errorAnswer, hasMethod, isObject, messagesOf, revisionOf } from './json-rpc.ts';
import { REFUSED, refusalAnswer, undecidableAnswer } from './refusals.ts';
import { RequestStates, stateKeys, type Waiting } from './request-state.ts';
import type { Sessions } from './sessions.ts';
import { mayMakeTask, TASK_NOT_FOUND, Tasks, taskIdsOf } from './tasks.ts';

const MAX_CALLS = 100;
const WAIT_SECONDS = 15;
const INVALID_REQUEST = -32600;

/** A question with the decision that allowed it. */
export interface Decided {
  readonly ask: Ask;
  readonly decision: Decision;
}

type Rules = Pick<AnswerRules, 'cut' | 'note' | 'attach' | 'permitted' | 'asksForList'>;

type Judged =
  | { readonly answer: string; readonly status?: number }
  | {
      /** How the answer is filtered. */
      readonly rules: Rules;
      /** Whether the guard's state was removed from the body. */
      readonly isChanged: boolean;
      readonly decided: readonly Decided[];
    };

/**
 * Continues a call whose server asked for input: returns the decision that allowed the call, `invalid` if its state is
 * not valid here, or undefined for any other call.
 */
export type Continue = (auth: McpAuth, ask: Ask) => Decision | 'invalid' | undefined;

interface Circumstances {
  readonly method: string;
  readonly header: (name: string) => string | null;
  readonly origin: Origin;
  readonly isGone?: (() => boolean) | undefined;
  readonly continues?: Continue | undefined;
}

/** Decides on a request before any part of it is forwarded. */
export class Calls {
  readonly #sessions: Sessions;
  readonly #tasks = new Tasks();
  /** undefined: decisions are switched off. */
  readonly #wanted: { readonly decisions: Decisions; readonly person: AskPerson } | undefined;

  constructor(options: GuardOptions, sessions: Sessions) {
    this.#sessions = sessions;
    const decisions = decisionsOf(options);
    if (!decisions) return;
    const states = new RequestStates<Waiting>(stateKeys(options), options.server.endpoint, 'approval');
    const waitMs = (options.approvalWaitSeconds ?? WAIT_SECONDS) * 1000;
    this.#wanted = { decisions, person: new AskPerson({ decisions, states, sessions, waitMs }) };
  }

  async judge(auth: McpAuth, body: unknown, asks: readonly Ask[], request: Circumstances): Promise<Judged> {
    const asksForList = hasMethod(body, LIST_METHODS);
    const wanted = this.#wanted;
    if (!wanted)
      return {
        rules: { cut: undefined, note: undefined, attach: undefined, asksForList },
        isChanged: false,
        decided: [],
      };
    const { decisions, person } = wanted;
    const tasks = taskIdsOf(body);
    if (asks.length + tasks.length > MAX_CALLS) {
      const message = `A request may ask for at most ${MAX_CALLS} things.`;
      return { answer: errorAnswer(body, { code: INVALID_REQUEST, message }), status: 400 };
    }
    for (const task of tasks) {
      const answer = await this.#stopsTask(auth, body, task, request.origin, decisions);
      if (answer !== undefined) return { answer };
    }
    let isChanged = false;
    const decided: Decided[] = [];
    const isBatch = Array.isArray(body) && asks.length > 1;
    for (const ask of isBatch ? await refusedFirst(auth, asks, request.origin, decisions) : asks) {
      const earlier = request.continues?.(auth, ask);
      if (earlier === 'invalid') return { answer: errorAnswer(body, INVALID_STATE) };
      if (earlier) {
        // The call was decided, counted and perhaps approved. It ends here if it would not be permitted now.
        const refusal = await refusalNow(auth, ask, request.origin, decisions);
        if (refusal) return { answer: refusalAnswer(body, ask, refusal, undefined) };
        decided.push({ ask, decision: earlier });
        continue;
      }
      const repeating = person.repeated(auth, body, ask, request.isGone);
      const repeated = repeating && (await repeating);
      if (typeof repeated === 'string') return { answer: repeated };
      isChanged ||= repeated !== undefined;
      let decision: Decision;
      try {
        decision = await decisions.decide(auth, ask, request.origin);
      } catch (error) {
        if (error instanceof Undecidable) return { answer: undecidableAnswer(body, ask) };
        throw error;
      }
      if (decision.allowed) {
        decided.push({ ask, decision });
        continue;
      }
      const session = request.header('mcp-session-id');
      return {
        answer:
          decision.approvalId === undefined
            ? refusalAnswer(body, ask, decision, undefined)
            : person.answer(auth, body, ask, decision, session, repeated?.round ?? 0),
      };
    }
    return { rules: this.#rules(auth, body, asks, request, asksForList, decisions), isChanged, decided };
  }

  #rules(
    auth: McpAuth,
    body: unknown,
    asks: readonly Ask[],
    { method, header }: Circumstances,
    asksForList: boolean,
    decisions: Decisions,
  ): Rules {
    const isModern = messagesOf(body).some((message) => revisionOf(message) !== undefined);
    const calls = asks.filter(({ message }) => message['method'] === 'tools/call' && mayMakeTask(message));
    const session = this.#sessions.get(header('mcp-session-id'));
    // A stream opened by GET may repeat the answer to an earlier request.
    const isGet = method === 'GET';
    const permitted = (questions: readonly Question[]): Promise<boolean[]> => decisions.permitted(auth, questions);
    const cut =
      asksForList || isGet ? cutLists(permitted, (task) => this.#tasks.find(task, auth), isModern) : undefined;
    return {
      asksForList,
      permitted,
      cut,
      note:
        calls.length === 0
          ? undefined
          : (message) => {
              const call = calls.find(({ id }) => isObject(message) && message['id'] === id);
              if (call) this.#tasks.note(message, auth, call);
            },
      attach:
        isGet && session
          ? (inject) => {
              session.streams.add(inject);
              return () => session.streams.delete(inject);
            }
          : undefined,
    };
  }

  /**
   * Returns the refusal of a request about another caller's task, or about a task whose call is no longer permitted.
   */
  async #stopsTask(
    auth: McpAuth,
    body: unknown,
    task: unknown,
    origin: Origin,
    decisions: Decisions,
  ): Promise<string | undefined> {
    const made = this.#tasks.find(task, auth);
    if (!made) return errorAnswer(body, TASK_NOT_FOUND);
    const refusal = await refusalNow(auth, made, origin, decisions);
    if (!refusal) return undefined;
    const message = 'The call that created this task is no longer permitted.';
    const { reason, auditId } = refusal;
    return errorAnswer(body, { code: REFUSED, message, data: { reason, auditId } });
  }
}

/**
 * Returns the recorded refusal of a call that was allowed earlier, or undefined if it would still be permitted. Only a
 * refusal is recorded and counted; otherwise the earlier decision is the record.
 */
async function refusalNow(
  auth: McpAuth,
  question: Question,
  origin: Origin,
  decisions: Decisions,
): Promise<Decision | undefined> {
  const [isPermitted] = await decisions.permitted(auth, [question]);
  if (isPermitted) return undefined;
  const decision = await decisions.decide(auth, question, origin);
  return decision.allowed ? undefined : decision;
}

/**
 * Returns the calls of a batch, first those that would be refused, then those that wait for an approval: a batch is
 * refused as a whole, so what is decided before a refusal would be counted, or use up an approval, without being
 * carried out.
 */
async function refusedFirst(
  auth: McpAuth,
  asks: readonly Ask[],
  origin: Origin,
  decisions: Decisions,
): Promise<readonly Ask[]> {
  const foreseen = await decisions.foresee(auth, asks, origin);
  const rankOf = (decision: Decision | undefined): number => {
    if (decision?.allowed) return 2;
    return decision?.reason === 'APPROVAL_REQUIRED' ? 1 : 0;
  };
  const ranked = asks.map((ask, i) => ({ ask, rank: rankOf(foreseen[i]) }));
  return ranked.sort((a, b) => a.rank - b.rank).map(({ ask }) => ask);
}
