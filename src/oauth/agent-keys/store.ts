import type { Id } from '../../kernel/ids.ts';
import type { AgentKeysRow, Db } from '../../storage/index.ts';

/** Returns undefined if the agent has no keys. */
export const findAgentKeys = (db: Db, agentId: Id<'agent'>): Promise<AgentKeysRow | undefined> =>
  db.selectFrom('agent_keys').selectAll().where('agent_id', '=', agentId).executeTakeFirst();
