import { type Expression, expressionBuilder, type SqlBool } from 'kysely';
import type { AgentRow, Tables } from '../../storage/index.ts';

/** The columns that determine an agent's status. */
export type AgentState = Pick<AgentRow, 'revoked_at' | 'expires_at'>;

export type AgentStatus = 'active' | 'revoked' | 'expired';

/** Computed from the clock, never stored: from `expiresAt` on, the agent is expired. Only revocation is final. */
export function agentStatus({ revoked_at, expires_at }: AgentState, now: number): AgentStatus {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && now >= expires_at ? 'expired' : 'active';
}

export const isActive = (agent: AgentState, now: number): boolean => agentStatus(agent, now) === 'active';

type Acting = AgentState & Pick<AgentRow, 'owner_suspended'>;

/** Returns why the agent may not act, for the log; undefined if it may. */
export function whyInactive(agent: Acting, now: number): 'agent-inactive' | 'owner-suspended' | undefined {
  if (!isActive(agent, now)) return 'agent-inactive';
  return agent.owner_suspended === 0 ? undefined : 'owner-suspended';
}

/** Returns whether the agent may act: it is active, and its owner is not suspended. */
export const mayAct = (agent: Acting, now: number): boolean => agent.owner_suspended === 0 && isActive(agent, now);

const eb = expressionBuilder<Tables, 'agents'>();

/** The same rule in SQL, for queries on `agents`. */
export function agentsOfStatus(status: AgentStatus, now: number): Expression<SqlBool> {
  const living = eb('agents.revoked_at', 'is', null);
  switch (status) {
    case 'revoked':
      return eb('agents.revoked_at', 'is not', null);
    case 'expired':
      return eb.and([living, eb('agents.expires_at', '<=', now)]);
    case 'active':
      return eb.and([living, eb.or([eb('agents.expires_at', 'is', null), eb('agents.expires_at', '>', now)])]);
  }
}
