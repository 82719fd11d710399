import { mayAct } from '../../authorization/agents/index.ts';
import type { Id } from '../../kernel/ids.ts';
import { type Database, type Db, prepared } from '../../storage/index.ts';
import { OAuthErrors } from '../errors.ts';

export const inactiveAgent = () =>
  OAuthErrors.OAUTH_INVALID_GRANT({
    reason: 'grant-agent-inactive',
    message: 'The agent of this grant is not active.',
  });

const findState = prepared((db, id: string) =>
  db
    .selectFrom('agents')
    .select(['revoked_at', 'expires_at', 'owner_suspended'])
    .where('id', '=', id as Id<'agent'>)
    .compile(),
);

/** Returns false if the agent is revoked, expired or deleted, or its owner suspended. */
export async function mayAgentAct(database: Database, db: Db, agentId: Id<'agent'>, now: number): Promise<boolean> {
  const row = await findState(database, db, agentId);
  return row !== undefined && mayAct(row, now);
}
