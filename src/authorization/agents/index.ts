/**
 * Agents: the identities of software agents, with their owner, their permissions, their token and their lifetime.
 *
 * Guarantees: a token is shown once and stored as a hash; revocation is final and takes effect with the next decision;
 * an agent expires by the clock at `expiresAt`, without a background job; a narrowed credential (`narrowed.ts`) never
 * creates an agent that can do more than itself; agents of an application end with its grant.
 *
 * Elsewhere: decisions about agents are in ../permissions, received permissions in ../delegations, owners in
 * people/users.
 */
import { asId } from '../../kernel/ids.ts';
import { defineModule } from '../../platform.ts';
import { agentToken } from './credential.ts';
import { endAgentsOfExpiredGrants, endAgentsOfGrants } from './end-with-grant.ts';
import { AgentErrors } from './errors.ts';
import { revokeAgentsOf } from './revoke-agent.ts';
import { endAgentTokens } from './rotate-agent.ts';
import { agentRoutes } from './routes.ts';

export { permissionColumns } from './agent.ts';
export { agentStatus, agentsOfStatus, isActive, mayAct, whyInactive } from './agent-state.ts';
export { type AgentsApi, agentsApi } from './api.ts';
export { insertAgent } from './create-agent.ts';
export { AgentErrors } from './errors.ts';
export { assertMayChange, assertMayGrant, assertNotItself } from './narrowed.ts';
export { revokeAgents } from './revoke-agent.ts';
export type { Agent, AgentWithToken, EffectivePermission } from './schema.ts';
export { findAgents, getAgentRow, getChangeableAgent, selectAgents } from './store.ts';

export const agents = defineModule({
  name: 'agents',
  description: 'Identities of software agents, with owner, permissions and token.',
  routes: agentRoutes,
  errors: AgentErrors,
  credentials: [agentToken],
  upkeep: endAgentsOfExpiredGrants,
  reactions: {
    // The agents of a suspended owner keep their own state. A grant also ends if the owner of its actor is suspended.
    'grant.revoked': async (change, events) => {
      for (const bySuspension of [false, true]) {
        const ended = events.filter(({ data }) => (data['reason'] === 'owner-suspended') === bySuspension);
        const ids = ended.map(({ data }) => asId('grant', String(data['grantId'])));
        await endAgentsOfGrants(change, ids, bySuspension);
      }
    },
    'user.deleted': async (change, events) => {
      for (const { userId } of events) if (userId !== undefined) await revokeAgentsOf(change, userId);
    },
    // A stranger who created the account before its address was verified may have the tokens of its agents.
    'user.updated': async (change, events) => {
      for (const { userId, data } of events)
        if (userId !== undefined && data['reason'] === 'address-proved') await endAgentTokens(change, userId);
    },
  },
});
