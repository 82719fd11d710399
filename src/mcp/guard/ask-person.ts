import { setTimeout as wait } from 'node:timers/promises';
import type { Ask } from './asks.ts';
import type { Decisions } from './decisions.ts';
import type { Decision, McpAuth } from './guard-options.ts';
import { answerEach, declaredCapabilities, errorAnswer, hasUrlElicitation, paramsOf, revisionOf } from './json-rpc.ts';
import { refusalAnswer, refusalText } from './refusals.ts';
import type { RequestStates, Waiting } from './request-state.ts';
import type { Sessions } from './sessions.ts';

const INVALID_PARAMS = -32602;
export const INVALID_STATE = {
  code: INVALID_PARAMS,
  message: 'requestState was made for another call, was used before, or is too old. Make the call without it.',
} as const;
/** Error code of MCP 2025-11-25, elicitation. */
const URL_ELICITATION_REQUIRED = -32042;
const INPUT = 'approval';
const MAX_WAIT_MS = 20_000;
const LOOK_EVERY_MS = 500;
/** Clients give up after ten answers that ask for input. */
const MAX_ROUNDS = 8;
/** Methods whose answer may be a request for input (MCP 2026-07-28). */
const MAY_ASK: ReadonlySet<unknown> = new Set(['tools/call', 'prompts/get', 'resources/read']);

interface Parts {
  readonly decisions: Decisions;
  readonly states: RequestStates<Waiting>;
  readonly sessions: Sessions;
  /** How long a repeated call waits for the person. */
  readonly waitMs: number;
}

/** Sends the user of a client to the approval page, in a way that the client supports. */
export class AskPerson {
  readonly #parts: Parts;
  readonly #waitMs: number;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#waitMs = Math.min(Math.max(parts.waitMs, 0), MAX_WAIT_MS);
  }

  /**
   * Handles the repetition of a call that waits for approval, and removes the guard's state from its parameters.
   * Returns its answer as text, or undefined for any other call. With a round, the call is decided like any other.
   */
  repeated(
    auth: McpAuth,
    body: unknown,
    ask: Ask,
    isGone = (): boolean => false,
  ): Promise<string | { readonly round: number }> | undefined {
    const { requestState } = paramsOf(ask.message);
    return this.#parts.states.isOurs(requestState) ? this.#repeated(auth, body, ask, requestState, isGone) : undefined;
  }

  async #repeated(
    auth: McpAuth,
    body: unknown,
    ask: Ask,
    requestState: string,
    isGone: () => boolean,
  ): Promise<string | { readonly round: number }> {
    const params = paramsOf(ask.message);
    const { states, decisions } = this.#parts;
    const waiting = states.take(auth, ask.message, requestState);
    if (!waiting) return errorAnswer(body, INVALID_STATE);
    const responses = params['inputResponses'] as Record<string, { action?: unknown } | undefined> | undefined;
    const action = responses?.[INPUT]?.action;
    for (const name of ['requestState', 'inputResponses'] as const) {
      delete params[name];
      if (waiting.held?.[name] !== undefined) params[name] = waiting.held[name];
    }
    const { approvalId, auditId, round } = waiting;
    const refused = (reason: string, url?: string): string =>
      refusalAnswer(body, ask, { allowed: false, reason, ...(auditId !== undefined && { auditId }), approvalId }, url);
    const declined = action === 'decline' || action === 'cancel';
    const status = declined ? 'pending' : await this.#settled(approvalId, isGone);
    if (status === 'denied') return refused('APPROVAL_DENIED');
    // Nobody waits for the answer, so the approval remains for the next identical call.
    if (isGone()) return refused('APPROVAL_REQUIRED');
    if (status !== 'pending') return { round };
    if (!declined && round < MAX_ROUNDS && ask.id !== undefined)
      return this.#inputRequired(auth, body, ask, { ...waiting, round: round + 1 });
    return refused('APPROVAL_REQUIRED', decisions.approvalUrl(approvalId));
  }

  /** Returns the answer to a call that a person has to approve. */
  answer(auth: McpAuth, body: unknown, ask: Ask, decision: Decision, session: string | null, round: number): string {
    const { decisions, sessions } = this.#parts;
    const { approvalId, auditId } = decision;
    const url = approvalId === undefined ? undefined : decisions.approvalUrl(approvalId);
    const plain = (): string => refusalAnswer(body, ask, decision, url);
    if (approvalId === undefined || url === undefined || Array.isArray(body) || ask.id === undefined) return plain();
    if (revisionOf(ask.message) !== undefined) {
      const able = hasUrlElicitation(declaredCapabilities(ask.message)) && MAY_ASK.has(ask.message['method']);
      if (!able || round > 0) return plain();
      const { requestState, inputResponses } = paramsOf(ask.message);
      const held =
        requestState === undefined && inputResponses === undefined ? {} : { held: { requestState, inputResponses } };
      return this.#inputRequired(auth, body, ask, { approvalId, auditId, round: 1, ...held }, url);
    }
    const opened = sessions.get(session);
    if (!opened?.urlElicitation) return plain();
    sessions.watch(opened, approvalId, () => decisions.approvalStatus(approvalId));
    return errorAnswer(body, {
      code: URL_ELICITATION_REQUIRED,
      message: refusalText(ask, decision, url),
      data: { elicitations: [{ mode: 'url', elicitationId: approvalId, url, message: requestText(ask) }] },
    });
  }

  /** Without a URL, the client repeats its call immediately and the person is not asked again. */
  #inputRequired(auth: McpAuth, body: unknown, ask: Ask, waiting: Waiting, url?: string): string {
    const requestState = this.#parts.states.make(auth, ask.message, waiting);
    const params = { mode: 'url', message: requestText(ask), url };
    const inputRequests = { [INPUT]: { method: 'elicitation/create', params } };
    return answerEach(body, () => ({
      result: { resultType: 'input_required', ...(url === undefined ? {} : { inputRequests }), requestState },
    }));
  }

  async #settled(approvalId: string, isGone: () => boolean): Promise<string | undefined> {
    const ends = performance.now() + this.#waitMs;
    for (;;) {
      const status = await this.#parts.decisions.approvalStatus(approvalId);
      const left = ends - performance.now();
      if (status !== 'pending' || left <= 0 || isGone()) return status;
      await wait(Math.min(LOOK_EVERY_MS, left));
    }
  }
}

const requestText = (ask: Ask): string =>
  `${ask.label()} needs your approval. The page shows what exactly would be done; sign in there, ` +
  'then approve or deny it.';
