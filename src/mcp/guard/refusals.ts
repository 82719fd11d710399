import type { Ask } from './asks.ts';
import type { Decision } from './guard-options.ts';
import { answerEach, type Message } from './json-rpc.ts';

/** Error code of a refusal, outside the range that JSON-RPC 2.0 reserves. */
export const REFUSED = 1403;
export const UNREADABLE_LIST = 1502;

const advice = ({ reason = '' }: Decision, approvalUrl: string | undefined): string => {
  switch (reason) {
    case 'NO_PERMISSION':
      return "is not available to this agent. Repeating the call does not help; the agent's owner can permit it.";
    case 'APPROVAL_REQUIRED':
      return approvalUrl === undefined
        ? 'needs the approval of a person. Tell the user, and repeat the identical call once it is approved.'
        : `needs the approval of a person. Ask the user to open ${approvalUrl} and approve the call there, ` +
            'then repeat the identical call.';
    case 'APPROVAL_DENIED':
      return 'was denied by a person. Do not repeat the call unless the user asks for it.';
    case 'RATE_LIMITED':
    case 'BUDGET_EXCEEDED':
      return 'has reached its limit for now.';
    case 'ARGUMENTS_NOT_ALLOWED':
      return 'may not be used with these arguments. Other arguments may be permitted.';
    default:
      return 'is not allowed at the moment.';
  }
};

/** Returns the text for the model and its user. */
export const refusalText = (ask: Ask, decision: Decision, approvalUrl: string | undefined): string =>
  [
    `${ask.label()} ${advice(decision, approvalUrl)}`,
    ...(decision.retryAfter === undefined ? [] : [`Try again in ${decision.retryAfter} seconds.`]),
    `(${decision.reason})`,
  ].join(' ');

/**
 * Returns a refusal as an answer at HTTP 200: for a tool call a result with `isError`, which the model sees, for any
 * other method an error. A batch is refused as a whole.
 */
export function refusalAnswer(body: unknown, ask: Ask, decision: Decision, approvalUrl: string | undefined): string {
  const text = refusalText(ask, decision, approvalUrl);
  const { reason, auditId, retryAfter, approvalId } = decision;
  const facts = {
    reason,
    ...(auditId === undefined ? {} : { auditId }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(approvalId === undefined ? {} : { approvalId }),
  };
  return refuseEach(body, text, facts);
}

/**
 * Returns the refusal of a question that exceeds the limits of a decision. There is no decision and therefore no
 * record; nothing is forwarded.
 */
export const undecidableAnswer = (body: unknown, ask: Ask): string => {
  const whole = ask.label();
  const label = whole.length > MAX_LABEL ? `${whole.slice(0, MAX_LABEL)}…` : whole;
  const text = `${label} cannot be decided on: its name or its arguments are too large. Repeat it with smaller ones.`;
  return refuseEach(body, text, { reason: 'VALIDATION_FAILED' });
};

const MAX_LABEL = 200;

const refuseEach = (body: unknown, text: string, facts: Message): string =>
  answerEach(body, ({ method }) =>
    method === 'tools/call'
      ? { result: { resultType: 'complete', content: [{ type: 'text', text }], isError: true, _meta: facts } }
      : { error: { code: REFUSED, message: text, data: facts } },
  );
