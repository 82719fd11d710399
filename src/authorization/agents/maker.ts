import type { Principal } from '../../access/principal.ts';
import type { AgentRow, Db } from '../../storage/index.ts';

/** The credential with which an agent was registered. */
export type Maker = Pick<AgentRow, 'created_by' | 'grant_id'>;

/** A person in a session, or the application. */
export const NOBODY: Maker = { created_by: null, grant_id: null };

/** Agents that an agent of a grant registers end with that grant as well. */
export async function makerOf(db: Db, principal: Principal): Promise<Maker> {
  switch (principal.kind) {
    case 'accessToken':
      return { created_by: principal.grantId, grant_id: principal.grantId };
    case 'agent': {
      const own = await db
        .selectFrom('agents')
        .select('grant_id')
        .where('id', '=', principal.agentId)
        .executeTakeFirst();
      return { created_by: principal.agentId, grant_id: own?.grant_id ?? null };
    }
    case 'user':
      return principal.via === 'apiToken' ? { created_by: principal.credentialId, grant_id: null } : NOBODY;
    case 'anonymous':
      return NOBODY;
  }
}
