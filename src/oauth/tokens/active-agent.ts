import { mayAct } from '../../authorization/agents/index.ts';
import type { Id } from '../../kernel/ids.ts';
import type { AgentRow, Db } from '../../storage/index.ts';
import { OAuthErrors } from '../errors.ts';

export const inactiveAgent = () =>
  OAuthErrors.OAUTH_INVALID_GRANT({
    reason: 'grant-agent-inactive',
    message: 'The agent of this grant is not active.',
  });

/** Returns undefined if the agent is revoked, expired or deleted, or its owner suspended. */
export async function findActiveAgent(db: Db, agentId: Id<'agent'>, now: number): Promise<AgentRow | undefined> {
  const row = await db.selectFrom('agents').selectAll().where('id', '=', agentId).executeTakeFirst();
  return row && mayAct(row, now) ? row : undefined;
}
