import { agentStatus } from '../permissions/index.ts';
import type { AgentRow, Db } from '../storage/index.ts';
import { OAuthErrors } from './errors.ts';

export const inactiveAgent = () => OAuthErrors.OAUTH_INVALID_GRANT({ message: 'The agent of this grant is not active.' });

/** Throws OAUTH_INVALID_GRANT for an agent that is revoked, expired or gone. */
export async function assertLiveAgent(db: Db, agentId: string, now: number): Promise<AgentRow> {
  const row = await db.selectFrom('agents').selectAll().where('id', '=', agentId).executeTakeFirst();
  if (!row || agentStatus({ revoked: row.revoked_at !== null, expiresAt: row.expires_at }, now) !== 'active') throw inactiveAgent();
  return row;
}
