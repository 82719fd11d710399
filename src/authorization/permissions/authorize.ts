import type { Platform } from '../../platform.ts';
import { PendingQuestion } from './pending-question.ts';
import type { Asker, AuthorizeAnswer, AuthorizeInput } from './question.ts';

export type { Asker, AuthorizeAnswer, AuthorizeInput } from './question.ts';

/**
 * One decision: decided under the ledger's lock on policy that is current there, counted, recorded, and only then answered.
 * Unknown or invisible agent: 404 AGENT_NOT_FOUND, without a record.
 *
 * `by` is told the chain of what is allowed, from the root to the agent: none when the agent holds it itself.
 */
export function authorize(
  platform: Platform,
  asker: Asker,
  input: AuthorizeInput,
  by?: (delegationIds: readonly string[]) => void,
): Promise<AuthorizeAnswer> {
  const question = new PendingQuestion(platform, asker, input, by);
  const evaluating = question.evaluateAhead();
  return evaluating ? evaluating.then(() => platform.ledger.decide(question)) : platform.ledger.decide(question);
}
