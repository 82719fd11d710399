import { z } from 'zod';
import { afterCursor, nextPage, PageQuery } from '../../http/page.ts';
import { toKnownError } from '../../http/render-error.ts';
import { CommonErrors, LegateError, validationFailed } from '../../kernel/errors.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { type Call, defineRoute } from '../../platform.ts';
import { AgentErrors } from '../agents/errors.ts';
import { type Asker, type AuthorizeAnswer, authorize } from './authorize.ts';
import { AUTHORIZE_BODY_LIMIT, AuthorizeBody } from './authorize-body.ts';
import { PolicyErrors } from './errors.ts';
import { ENTRY_OUTCOMES, traceRoom } from './explain.ts';
import { findSubjects } from './find-subjects.ts';
import { parseSimpleAuthorize } from './plain-question.ts';
import { assertPolicyWeight } from './policy-weight.ts';
import { REASONS } from './reasons.ts';
import { Action, PermissionSource, Resource } from './schema.ts';

const AgentStatusName = z.enum(['active', 'revoked', 'expired']);

const TracedEntry = z
  .object({
    index: z.number(),
    resource: z.string(),
    actions: z.array(z.string()),
    constraints: z.record(z.string(), z.unknown()).optional(),
    source: z.union([
      z.object({ type: z.literal('own') }),
      z.object({
        type: z.literal('delegation'),
        delegationId: z.string(),
        fromAgent: z.string(),
        fromStatus: AgentStatusName.optional(),
        entries: z
          .array(z.lazy((): z.ZodType => TracedEntry))
          .optional()
          .meta({
            description:
              'Matching entries of the source, if the chain was followed. Only if the source has the same owner.',
          }),
      }),
    ]),
    outcome: z.enum(ENTRY_OUTCOMES),
    used: z.number().optional(),
    limit: z.number().optional(),
  })
  .meta({ id: 'TracedEntry' });

export const DecisionTrace = z
  .object({
    agentStatus: AgentStatusName,
    entries: z.array(TracedEntry),
    omitted: z.number(),
    refusedBy: z
      .string()
      .optional()
      .meta({ description: 'The budget or MCP server whose limit refused the call, although an entry allows it.' }),
    nearest: z
      .object({
        index: z.number(),
        resource: z.string(),
        actions: z.array(z.string()),
        lacks: z.enum(['resource', 'action', ...ENTRY_OUTCOMES]),
      })
      .optional()
      .meta({ description: 'For a call that no entry allows: the entry that came closest, and what it lacks.' }),
  })
  .meta({ id: 'DecisionTrace' });

export const AuthorizeDecision = z
  .object({
    allowed: z.boolean(),
    auditId: z.string().optional().meta({ description: 'Id of the audit entry. Absent for a dry run.' }),
    reason: z
      .enum(Object.keys(REASONS) as [keyof typeof REASONS, ...(keyof typeof REASONS)[]])
      .optional()
      .meta({ description: 'Why the call is not allowed.' }),
    retryAfter: z.int().optional().meta({ description: 'Seconds; with RATE_LIMITED.' }),
    limit: z.int().optional(),
    remaining: z.int().optional(),
    resetAt: z.string().optional().meta({ format: 'date-time' }),
    approvalId: z.string().optional().meta({
      description: 'With APPROVAL_REQUIRED, unless approvalLimit is present.',
    }),
    approvalLimit: z
      .object({ per: z.enum(['agent', 'owner']), limit: z.int() })
      .optional()
      .meta({
        description:
          'With APPROVAL_REQUIRED: no approval was requested, because as many calls of the agent ' +
          '(`approvals.maxWaitingPerAgent`) or of all agents of its owner (`approvals.maxWaitingPerOwner`) ' +
          'already wait.',
      }),
    trace: DecisionTrace.optional(),
  })
  .meta({ id: 'AuthorizeDecision' });

export const askerOf = (
  call: Pick<Call<unknown, unknown, unknown>, 'principal' | 'proof' | 'ip' | 'userAgent' | 'startedAt'>,
): Asker => ({
  principal: call.principal,
  epoch: call.proof.epoch,
  reauthenticate: call.proof.reauthenticate,
  ip: call.ip,
  userAgent: call.userAgent,
  startedAt: call.startedAt,
});

/** Throws 400 VALIDATION_FAILED unless the agent is named or asks about itself. */
export function assertAgentNamed(
  kind: string | undefined,
  body: { agentId?: string | undefined },
  path = 'agentId',
): void {
  if (body.agentId === undefined && kind !== 'agent' && kind !== 'accessToken')
    throw validationFailed([{ path, message: 'is required, unless an agent asks about itself' }]);
}

/** The right to request decisions: for people, for access tokens with the scope, and for agents about themselves. */
export const mayCheck = { scope: 'authorize', resource: 'legate:authorize', action: 'check', self: true } as const;

/** The common answers contain nothing that JSON would have to escape. */
function writeAnswer(answer: AuthorizeAnswer): string {
  if (answer.allowed && answer.auditId !== undefined && answer.trace === undefined)
    return `{"allowed":true,"auditId":"${answer.auditId}"}`;
  return JSON.stringify(answer);
}

const MAX_FILTERED = 1000;
/**
 * Refusals that are temporary, or that an approval or other arguments can avoid. The agent may call the tool, but not
 * in every way or at every time.
 */
const TEMPORARY_REASONS: ReadonlySet<string> = new Set(['APPROVAL_REQUIRED', 'ARGUMENTS_NOT_ALLOWED', 'RATE_LIMITED']);

/** A limit of 0 never allows a call. */
const mayCall = ({ allowed, reason, limit }: AuthorizeAnswer): boolean =>
  allowed || (reason !== undefined && TEMPORARY_REASONS.has(reason) && limit !== 0);

const FilterBody = z
  .strictObject({
    resources: z.array(Resource).max(MAX_FILTERED, `must have at most ${MAX_FILTERED} entries`),
    action: Action,
    context: AuthorizeBody.shape.context,
  })
  .meta({ id: 'FilterRequest' });

const SubjectsQuery = PageQuery.extend({ action: Action, resource: Resource });

const BatchResult = z.union([
  AuthorizeDecision,
  z.object({ error: z.object({ code: z.string(), message: z.string() }) }),
]);

/** Errors of a batch that concern one question. All other questions have been decided. */
const FOR_ONE_QUESTION: ReadonlySet<string> = new Set([
  AgentErrors.AGENT_NOT_FOUND.code,
  CommonErrors.INTERNAL_ERROR.code,
]);

export const permissionRoutes = [
  defineRoute({
    method: 'POST',
    path: '/authorize',
    summary: 'Decide whether an agent may perform an action on a resource',
    description: 'The decision is recorded durably before the response is sent. A denial has status 200.',
    access: mayCheck,
    effect: 'none',
    fastPath: true,
    provedByLedger: true,
    body: AuthorizeBody,
    bodyLimit: AUTHORIZE_BODY_LIMIT,
    parseBody: parseSimpleAuthorize,
    serialize: (answer) => writeAnswer(answer as AuthorizeAnswer),
    responses: { 200: AuthorizeDecision },
    errors: [AgentErrors.AGENT_NOT_FOUND, PolicyErrors.POLICY_TOO_LARGE, CommonErrors.AUDIT_UNAVAILABLE],
    handle: async (call, platform) => {
      assertAgentNamed(call.principal.kind, call.body);
      return { status: 200, body: await authorize(platform, askerOf(call), call.body) };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/authorize/batch',
    summary: 'Decide up to 100 questions',
    description:
      'Each question is decided and recorded in order, like a single call. ' +
      'An agent that is not visible to the caller is an error in its result. ' +
      'The traces of all questions show at most 2 MB of entries; `omitted` counts the others.',
    access: mayCheck,
    effect: 'none',
    body: z.strictObject({ requests: z.array(AuthorizeBody).min(1).max(100) }),
    responses: {
      200: z
        .object({ results: z.array(BatchResult) })
        .meta({ description: 'The decisions, in the order of the questions.' }),
    },
    errors: [PolicyErrors.POLICY_TOO_LARGE, CommonErrors.AUDIT_UNAVAILABLE],
    handle: async (call, platform) => {
      call.body.requests.forEach((request, i) => {
        assertAgentNamed(call.principal.kind, request, `requests.${i}.agentId`);
        if (request.permissions) assertPolicyWeight(request.permissions);
      });
      const asker = { ...askerOf(call), traceRoom: traceRoom() };
      const results = await Promise.all(
        call.body.requests.map((request) =>
          authorize(platform, asker, request).catch((error: unknown) => {
            if (!(error instanceof LegateError) || !FOR_ONE_QUESTION.has(error.code)) throw error;
            return toKnownError(platform, error, call.requestId).toBody();
          }),
        ),
      );
      return { status: 200, body: { results } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/agents/:id/permissions/filter',
    summary: 'Filter resources by what an agent may do',
    description:
      'For the tool list of an MCP server: returns the resources on which the agent may perform the action. ' +
      'Nothing is counted or recorded. Includes resources that need approval, other arguments or a later hour.',
    access: mayCheck,
    effect: 'none',
    params: idParams('agent'),
    body: FilterBody,
    responses: {
      200: z
        .object({ resources: z.array(z.string()).meta({ description: 'In the order of the request.' }) })
        .meta({ description: 'The resources on which the agent may perform the action.' }),
    },
    errors: [AgentErrors.AGENT_NOT_FOUND],
    handle: async (call, platform) => {
      const { resources, action, context } = call.body;
      const asker = askerOf(call);
      const question = { agentId: call.params.id, action, context, dryRun: true };
      // An agent that is not visible is 404, even without resources.
      if (resources.length === 0) await authorize(platform, asker, { ...question, resource: 'none' });
      const answers = await Promise.all(
        resources.map((resource) => authorize(platform, asker, { ...question, resource })),
      );
      return { status: 200, body: { resources: resources.filter((_, i) => mayCall(answers[i] as AuthorizeAnswer)) } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/permissions/subjects',
    summary: 'List the agents that may perform an action on a resource',
    description:
      "The caller's agents that may do so now, with the chain of delegations. Limits, conditions and budgets apply. " +
      'Nothing is counted or recorded. A Link header with rel="next" points to the next page; ' +
      'a page may have fewer than `limit` agents.',
    access: mayCheck,
    query: SubjectsQuery,
    responses: {
      200: z.array(z.object({ agentId: z.string(), name: z.string(), ownerId: z.string(), via: PermissionSource })),
    },
    handle: async (call, platform) => {
      const { action, resource, limit, cursor } = call.query;
      const { agents, next } = await findSubjects(
        platform,
        askerOf(call),
        call.visibility,
        { action, resource },
        { limit, after: afterCursor('agent', cursor) },
      );
      const link = nextPage(call.url, next === undefined ? undefined : Buffer.from(next).toString('base64url'));
      return {
        status: 200,
        body: agents.map(({ id, name, ownerId, via }) => ({ agentId: id, name, ownerId, via })),
        ...link,
      };
    },
  }),
];
