import { defineModule } from '../platform.ts';
import { agentToken } from './credential.ts';
import { AgentErrors } from './errors.ts';
import { agentRoutes } from './routes.ts';

export { type Caller, toAgent } from './agent.ts';
export { type AgentsApi, agentsApi } from './api.ts';
export { createAgent } from './create-agent.ts';
export { AgentErrors } from './errors.ts';
export { getAgent, getEffectivePermissions } from './get-agent.ts';
export { listAgents } from './list-agents.ts';
export { revokeAgent } from './revoke-agent.ts';
export { rotateAgent } from './rotate-agent.ts';
export { Agent, AgentWithToken, CreateAgent, EffectivePermission, UpdateAgent } from './schema.ts';
export { updateAgent } from './update-agent.ts';

export const agents = defineModule({
  name: 'agents',
  description: 'Identities of software agents: who owns them, what they may do, their tokens.',
  routes: agentRoutes,
  errors: AgentErrors,
  credentials: [agentToken],
});
