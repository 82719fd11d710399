import { defineModule } from '../../platform.ts';
import { PolicyErrors } from './errors.ts';
import { policyCache } from './policy.ts';
import { runningReplays } from './replay.ts';
import { permissionRoutes } from './routes.ts';

/**
 * Decides what an agent may do (contract 6), and records each decision.
 *
 * Guarantees: a decision uses the newest committed policy of every agent on its chain; it is durable before it is
 * answered; limits on calls hold exactly under concurrency; the cost of a decision is limited for every policy.
 *
 * `decide.ts` is the pure function, `pending-question.ts` takes a question through the ledger, `compile.ts` and
 * `policy.ts` the policy in memory. Agents, delegations and approvals are created in the neighbouring folders; budgets
 * and rate limits of MCP servers join as gates (`Platform.gates`).
 */
export { type CheckAnswer, type DecisionsApi, decisionsApi, type Question } from './api.ts';
export { APPROVAL_STEP_REASONS, type ApprovalStep, approvalStep, isApprovalStep } from './approval.ts';
export { type Asker, type AuthorizeAnswer, type AuthorizeInput, authorize } from './authorize.ts';
export { AUTHORIZE_BODY_LIMIT, AuthorizeBody, CallContext } from './authorize-body.ts';
export { isLiveDelegation, liveDelegations } from './chains.ts';
export { type CompiledAgent, counterIdentity, type Received } from './compile.ts';
export { type DelegationSources, findDelegationSources, MAX_SOURCE_STEPS } from './delegation-sources.ts';
export {
  type EffectivePermission,
  effectivePermission,
  effectivePermissions,
  type Held,
  Holdings,
  intersectActions,
} from './effective.ts';
export { PolicyErrors } from './errors.ts';
export { explainRecorded, type RecordedTrace } from './explain-recorded.ts';
export { findSubjects } from './find-subjects.ts';
export { FixturePolicy, Fixtures, type FixtureTest, isExpected } from './fixtures.ts';
export { type Holder, Holders } from './holder.ts';
export { mayUseOwnResource } from './own-resources.ts';
export { intersectPatterns, PatternIndex, patternMatches } from './pattern.ts';
export { isPlainQuestion } from './plain-question.ts';
export { changedPolicies, evaluateWithAgents, PolicyCache, policyCache, readChains } from './policy.ts';
export { assertPolicyWeight } from './policy-weight.ts';
export type { Reason } from './reasons.ts';
export { replay } from './replay.ts';
export { ReplayAnswer, ReplayBody } from './replay-schema.ts';
export { askerOf, DecisionTrace, mayCheck } from './routes.ts';
export { Constraints, isUnconditional, Permission, PermissionSource, Permissions } from './schema.ts';
export { storedPermissions } from './stored-permissions.ts';

export const permissions = defineModule({
  name: 'permissions',
  description: 'Decides what an agent may do, and records each decision.',
  routes: permissionRoutes,
  errors: PolicyErrors,
  states: [policyCache, runningReplays],
});
