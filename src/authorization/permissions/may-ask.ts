import { actingAgent, type Principal } from '../../access/principal.ts';
import { CommonErrors, invalidCredential } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import { agentStatus } from '../agents/agent-state.ts';
import { AgentErrors } from '../agents/errors.ts';
import type { CompiledAgent } from './compile.ts';
import { mayUseOwnResource } from './own-resources.ts';

/** Checks whether a caller may ask about an agent at `now`. Throws 401, 403 or 404 AGENT_NOT_FOUND. */
export function assertMayAsk(
  p: Principal,
  agent: CompiledAgent,
  now: number,
  isDryRun: boolean,
  peek: (id: Id<'agent'>) => CompiledAgent | undefined,
): void {
  switch (p.kind) {
    case 'user':
      if (p.expiresAt !== null && now >= p.expiresAt) throw invalidCredential('principal-ended');
      if (p.secondFactorDue) throw CommonErrors.SECOND_FACTOR_REQUIRED();
      if (p.role === 'user' && agent.ownerId !== p.userId) throw AgentErrors.AGENT_NOT_FOUND();
      if (p.role === 'auditor' && !isDryRun)
        throw CommonErrors.FORBIDDEN({ message: 'An auditor can only ask with dryRun: true.' });
      return;
    case 'agent': {
      const caller = p.agentId === agent.id ? agent : peek(p.agentId);
      if (!caller || caller.tokenHash !== p.tokenHash || agentStatus(caller, now) !== 'active')
        throw invalidCredential('principal-ended');
      if (caller === agent) return;
      if (agent.ownerId !== caller.ownerId || !mayUseOwnResource(caller, 'legate:authorize', 'check'))
        throw AgentErrors.AGENT_NOT_FOUND();
      return;
    }
    case 'accessToken':
      if (now >= p.expiresAt) throw invalidCredential('access-token-expired');
      if (agent.id === actingAgent(p)) return;
      if (agent.ownerId !== p.userId) throw AgentErrors.AGENT_NOT_FOUND();
      return;
    case 'anonymous':
      throw CommonErrors.UNAUTHORIZED();
  }
}
