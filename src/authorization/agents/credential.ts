import type { Credential } from '../../platform.ts';
import { isActive } from './agent-state.ts';

/**
 * The agent token. Revoked and expired agents have no valid credential (contract 5). Read from the database and not
 * from the policy in memory, which is guaranteed to be current only inside a batch of the ledger.
 */
export const agentToken: Credential = {
  kind: 'agentToken',
  verify: async (_platform, db, tokenHash, now) => {
    const row = await db
      .selectFrom('agents')
      .select(['id', 'owner_id', 'tenant_id', 'revoked_at', 'expires_at'])
      .where('token_hash', '=', tokenHash)
      .executeTakeFirst();
    if (!row) return 'agent-token-unknown';
    if (!isActive(row, now)) return 'agent-inactive';
    const { id: agentId, owner_id: ownerId, tenant_id: tenantId, expires_at: expiresAt } = row;
    return { kind: 'agent', agentId, ownerId, tenantId, tokenHash, expiresAt };
  },
};
