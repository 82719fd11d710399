import { chunk } from '../../kernel/chunk.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { isRegistered } from '../resource.ts';
import { revokeUnusedAgents } from './consent-agent.ts';
import type { EndReason } from './end-reason.ts';
import { endGrants } from './grants.ts';

/**
 * Ends the grants for a resource, and deletes the consents and unused codes for it, in the change that deleted or moved
 * its server. Revokes the agents whose last grant this was and that a consent for the same client created. Does nothing
 * if another server has this endpoint, and for the resource of this service itself.
 */
export async function endResource(
  { audience }: Pick<Platform, 'audience'>,
  change: Change,
  resource: string,
  reason: EndReason,
): Promise<void> {
  const { db } = change;
  if (await isRegistered({ audience }, db, resource)) return;
  await db.deleteFrom('oauth_codes').where('resource', '=', resource).where('used_at', 'is', null).execute();
  await db.deleteFrom('oauth_consents').where('resource', '=', resource).execute();
  await db
    .deleteFrom('oauth_device_requests')
    .where('resource', '=', resource)
    .where('status', '=', 'allowed')
    .execute();
  const agentsOf = new Map<Id<'client'>, Set<Id<'agent'>>>();
  for (const { client_id, agent_id } of await endGrants(change, 'resource', [resource], reason))
    agentsOf.set(client_id, (agentsOf.get(client_id) ?? new Set()).add(agent_id));
  for (const [clientId, agentIds] of agentsOf)
    for (const some of chunk([...agentIds])) await revokeUnusedAgents(change, clientId, reason, some);
}
