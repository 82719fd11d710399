import type { Platform } from '../../platform.ts';
import { PendingQuestion } from './pending-question.ts';
import { assertPolicyWeight } from './policy-weight.ts';
import type { Asker, AuthorizeAnswer, AuthorizeInput } from './question.ts';

export type { Asker, AuthorizeAnswer, AuthorizeInput } from './question.ts';

/**
 * Decides one question under the ledger's lock on the current policy, counts and records the decision, and only then
 * returns the answer. An agent that is unknown or not visible to the caller is 404 AGENT_NOT_FOUND and leaves no
 * record. A draft that is too large is 422 POLICY_TOO_LARGE.
 *
 * @param onAllowed receives the chain of delegations of an allowed call, from the root to the agent. It is empty if the
 * agent holds the permission itself.
 */
export function authorize(
  platform: Platform,
  asker: Asker,
  input: AuthorizeInput,
  onAllowed?: (delegationIds: readonly string[]) => void,
): Promise<AuthorizeAnswer> {
  if (input.permissions) {
    try {
      assertPolicyWeight(input.permissions);
    } catch (error) {
      // Callers ask several questions at once, and handle a promise for each.
      return Promise.reject(error);
    }
  }
  const ledger = platform.ledger.reserve();
  const question = new PendingQuestion(platform, asker, input, onAllowed);
  const evaluating = question.evaluateAhead();
  return evaluating ? evaluating.then(() => ledger.decide(question)) : ledger.decide(question);
}
