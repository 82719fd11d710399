import type { Changer } from '../../access/caller.ts';
import type { Visibility } from '../../access/principal.ts';
import { endDelegations } from '../../authorization/delegations/index.ts';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, OAuthGrantRow } from '../../storage/index.ts';
import { nameInDocument } from '../clients/stored-document.ts';
import { ClientErrors } from '../errors.ts';
import { grantFields } from '../token/issue-tokens.ts';
import { CONSENT_KINDS, revokeUnusedAgents } from './consent-agent.ts';
import type { EndReason } from './end-reason.ts';

type Column =
  | 'id'
  | 'user_id'
  | 'client_id'
  | 'agent_id'
  | 'actor_id'
  | 'delegation_id'
  | 'parent_id'
  | 'trust_id'
  | 'workload_issuer'
  | 'resource';

/** A grant that has ended. */
type Ended = Pick<
  OAuthGrantRow,
  'id' | 'client_id' | 'agent_id' | 'actor_id' | 'user_id' | 'delegation_id' | 'scope' | 'resource'
>;

/**
 * Ends every live grant with one of these values, and the grants exchanged from it, in this change. Their tokens are
 * invalid from the next request on. Emits `grant.revoked` for each grant. Returns those that had one of the values.
 *
 * @param kind limits the first level to grants of this kind.
 */
export async function endGrants(
  change: Change,
  column: Column,
  values: readonly string[],
  reason: EndReason,
  kind?: OAuthGrantRow['kind'],
): Promise<Ended[]> {
  const { db, now } = change;
  const all: Ended[] = [];
  for (const batch of chunk(values)) {
    const live = db
      .updateTable('oauth_grants')
      .set({ revoked_at: now, reason })
      .where('revoked_at', 'is', null)
      .where(column, 'in', batch);
    const ended = await (kind ? live.where('kind', '=', kind) : live)
      .returning(['id', 'client_id', 'agent_id', 'actor_id', 'user_id', 'delegation_id', 'scope', 'resource'])
      .execute();
    if (ended.length === 0) continue;
    all.push(...ended);
    change.invalidate();
    for (const grant of ended)
      change.emit({
        type: 'grant.revoked',
        agentId: grant.agent_id,
        userId: grant.user_id,
        data: { grantId: grant.id, clientId: grant.client_id, agentId: grant.agent_id, reason },
        before: grantFields(grant),
      });
    const delegations = ended.flatMap((grant) => grant.delegation_id ?? []);
    if (delegations.length > 0) await endDelegations(change, delegations, 'revoked');
    await endGrants(
      change,
      'parent_id',
      ended.map(({ id }) => id),
      'parent-ended',
    );
  }
  return all;
}

/** Ends all grants of these users and deletes their pending codes and consents, so that clients have to ask again. */
export async function endGrantsOfUsers(
  change: Change,
  userIds: readonly Id<'user'>[],
  reason: EndReason,
): Promise<void> {
  for (const batch of chunk(userIds)) {
    await change.db.deleteFrom('oauth_codes').where('user_id', 'in', batch).where('used_at', 'is', null).execute();
    await change.db.deleteFrom('oauth_consents').where('user_id', 'in', batch).execute();
    await change.db
      .deleteFrom('oauth_device_requests')
      .where('user_id', 'in', batch)
      .where('status', '=', 'allowed')
      .execute();
  }
  await endGrants(change, 'user_id', userIds, reason);
}

function whereVisible(db: Db, visibility: Visibility) {
  const query = db
    .selectFrom('oauth_grants')
    .leftJoin('oauth_clients', 'oauth_clients.id', 'oauth_grants.client_id')
    .leftJoin('oauth_client_documents', 'oauth_client_documents.client_id', 'oauth_grants.client_id')
    .leftJoin('agents', 'agents.id', 'oauth_grants.agent_id');
  const live = query
    .selectAll('oauth_grants')
    .select(['oauth_clients.name as client_name', 'agents.name as agent_name'])
    .select('oauth_client_documents.document as client_document')
    .where('oauth_grants.revoked_at', 'is', null);
  return visibility.kind === 'all' ? live : live.where('oauth_grants.user_id', '=', visibility.userId);
}

type GrantWithNames = OAuthGrantRow & { client_name: string | null; agent_name: string | null };

/** A client with a metadata document has the name in it, as long as it is stored. */
const withName = ({
  client_document: document,
  ...row
}: GrantWithNames & { readonly client_document: string | null }): GrantWithNames => ({
  ...row,
  client_name: row.client_name ?? (document === null ? null : nameInDocument(document)),
});

/**
 * Returns live grants, newest first.
 *
 * @param page.kinds limits this to some kinds.
 */
export async function findGrants(
  db: Db,
  visibility: Visibility,
  now: number,
  page: { after: Id<'grant'> | undefined; limit: number; kinds?: readonly OAuthGrantRow['kind'][] },
): Promise<GrantWithNames[]> {
  let query = whereVisible(db, visibility).where('oauth_grants.expires_at', '>', now);
  if (page.kinds) query = query.where('kind', 'in', page.kinds);
  if (page.after !== undefined) query = query.where('oauth_grants.id', '<', page.after);
  return (await query.orderBy('oauth_grants.id', 'desc').limit(page.limit).execute()).map(withName);
}

/** Returns a live grant. Throws 404 GRANT_NOT_FOUND. */
export async function getGrant(db: Db, visibility: Visibility, now: number, id: Id<'grant'>): Promise<GrantWithNames> {
  const row = isId('grant', id)
    ? await whereVisible(db, visibility)
        .where('oauth_grants.expires_at', '>', now)
        .where('oauth_grants.id', '=', id)
        .executeTakeFirst()
    : undefined;
  if (!row) throw ClientErrors.GRANT_NOT_FOUND();
  return withName(row);
}

/** Ends a grant; the client has to ask the person again. Throws 404 GRANT_NOT_FOUND. */
export async function endGrant({ ledger }: Pick<Platform, 'ledger'>, caller: Changer, id: string): Promise<void> {
  await ledger.change(caller.actor, async (change) => {
    const visibility = await caller.reauthorize(change.db);
    const row = isId('grant', id)
      ? await whereVisible(change.db, visibility).where('oauth_grants.id', '=', id).executeTakeFirst()
      : undefined;
    if (!row) throw ClientErrors.GRANT_NOT_FOUND();
    await endGrants(change, 'id', [id], 'revoked');
    if (CONSENT_KINDS.includes(row.kind)) await deleteConsents(change, row);
  });
}

/**
 * Deletes the consents and unused codes of this person and client for the resource of an ended grant, and for every
 * other resource without a live grant, so that no consent remains that the person cannot see and end. Revokes the agent
 * if this was its last grant and a consent for this client created it.
 */
async function deleteConsents(change: Change, ended: OAuthGrantRow): Promise<void> {
  const { db, now } = change;
  const others = await db
    .selectFrom('oauth_grants')
    .select('resource')
    .where('user_id', '=', ended.user_id)
    .where('client_id', '=', ended.client_id)
    .where('kind', 'in', CONSENT_KINDS)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .where('resource', '!=', ended.resource)
    .execute();
  const keptResources = [...new Set(others.map(({ resource }) => resource))];
  // An unused code could still become a grant.
  let codes = db
    .deleteFrom('oauth_codes')
    .where('user_id', '=', ended.user_id)
    .where('client_id', '=', ended.client_id)
    .where('used_at', 'is', null);
  let consents = db
    .deleteFrom('oauth_consents')
    .where('user_id', '=', ended.user_id)
    .where('client_id', '=', ended.client_id);
  if (keptResources.length > 0) {
    codes = codes.where('resource', 'not in', keptResources);
    consents = consents.where('resource', 'not in', keptResources);
  }
  await codes.execute();
  await consents.execute();
  await db
    .deleteFrom('oauth_device_requests')
    .where('user_id', '=', ended.user_id)
    .where('client_id', '=', ended.client_id)
    .where('status', '=', 'allowed')
    .execute();
  await revokeUnusedAgents(change, ended.client_id, 'revoked', [ended.agent_id]);
}

export const toGrant = (row: GrantWithNames) => ({
  id: row.id,
  clientId: row.client_id,
  clientName: row.client_name,
  userId: row.user_id,
  agentId: row.agent_id,
  agentName: row.agent_name,
  ...(row.actor_id === null ? {} : { actorId: row.actor_id }),
  kind: row.kind,
  scopes: row.scope.split(' ').filter((s) => s !== ''),
  resource: row.resource,
  createdAt: isoTime(row.created_at),
  lastUsedAt: isoTime(row.last_used_at),
  expiresAt: isoTime(row.expires_at),
});
