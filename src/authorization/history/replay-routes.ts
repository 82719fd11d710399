import { slotHolderOf } from '../../access/principal.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { AgentErrors, getAgentRow } from '../agents/index.ts';
import { assertPolicyWeight, PolicyErrors, ReplayAnswer, ReplayBody, replay } from '../permissions/index.ts';

export const replayRoutes = [
  defineRoute({
    method: 'POST',
    path: '/agents/:id/permissions/replay',
    summary: 'Repeat recorded decisions with a draft of the permissions',
    description:
      'Returns the decisions that would have another result. Delegations, approvals, and refusals by budgets and ' +
      'servers are as recorded; calls under limits per clock hour are counted in the recorded order. Conditions use ' +
      'the recorded arguments, in which secrets are redacted. Nothing is recorded.',
    access: { scope: 'audit:read', resource: 'legate:audit', action: 'read', self: true },
    effect: 'none',
    params: idParams('agent'),
    body: ReplayBody,
    responses: { 200: ReplayAnswer },
    errors: [AgentErrors.AGENT_NOT_FOUND, PolicyErrors.POLICY_TOO_LARGE, PolicyErrors.TOO_MANY_REPLAYS],
    handle: async (call, platform) => {
      const { id } = await getAgentRow(platform.database.read, call.visibility, call.params.id);
      assertPolicyWeight(call.body.permissions);
      return { status: 200, body: await replay(platform, id, call.body, slotHolderOf(call.principal)) };
    },
  }),
];
