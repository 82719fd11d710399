import type { Changer } from '../../access/caller.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';
import type { OAuthClientRow } from '../../storage/index.ts';
import { revokeUnusedAgents } from '../consent/consent-agent.ts';
import { forgetConsentForms } from '../consent/consent-form.ts';
import { endGrants } from '../consent/grants.ts';
import { requireClientRow } from './client.ts';
import { isDocumentId } from './metadata-document.ts';

/** Newest first. */
export function listClients(
  platform: Platform,
  page: { after: string | undefined; limit: number },
): Promise<OAuthClientRow[]> {
  let query = platform.database.read.selectFrom('oauth_clients').selectAll();
  if (page.after !== undefined) query = query.where('id', '<', page.after);
  return query.orderBy('id', 'desc').limit(page.limit).execute();
}

/**
 * Ends the client, all its grants and the agents that consents made for it. One with a metadata document has no row of its own: it is known by what people granted it, and
 * may ask them again. 404 CLIENT_NOT_FOUND.
 */
export async function deleteClient(platform: Platform, caller: Changer, id: string): Promise<void> {
  await platform.ledger.change(caller.actor, async (change) => {
    const { db } = change;
    await caller.reauthorize(db);
    const granted = isDocumentId(id)
      ? await db
          .selectFrom('oauth_grants')
          .select('id')
          .where('client_id', '=', id)
          .where('revoked_at', 'is', null)
          .executeTakeFirst()
      : undefined;
    if (!granted) await requireClientRow(db, id);
    await endGrants(change, 'client_id', [id], 'client-deleted');
    await revokeUnusedAgents(change, id, 'client-deleted');
    for (const table of ['oauth_consents', 'oauth_codes', 'oauth_client_agents'] as const)
      await db.deleteFrom(table).where('client_id', '=', id).execute();
    await db.deleteFrom('oauth_clients').where('id', '=', id).execute();
  });
}

const CHUNK = 500;

/** Forgets what can be of no use any more: clients that were never used, expired codes, refresh tokens of dead grants, ended tokens. */
export async function forgetStale(platform: Platform): Promise<void> {
  const now = platform.clock.now();
  const unusedBefore = now - platform.config.mcp.unusedClientDays * DAY_MS;
  await platform.ledger.maintain(async (db) => {
    const stale = await db
      .selectFrom('oauth_clients')
      .select('id')
      .where('origin', '=', 'self')
      .where('last_used_at', 'is', null)
      .where('created_at', '<', unusedBefore)
      .limit(CHUNK)
      .execute();
    if (stale.length > 0)
      await db
        .deleteFrom('oauth_clients')
        .where(
          'id',
          'in',
          stale.map((c) => c.id),
        )
        .where('last_used_at', 'is', null)
        .execute();
    // A used code is kept for an hour, so that its second use is seen.
    await db
      .deleteFrom('oauth_codes')
      .where('expires_at', '<', now - DAY_MS / 24)
      .execute();
    await forgetConsentForms(db, now);
    await db.deleteFrom('oauth_revoked_tokens').where('expires_at', '<', now).execute();
    const dead = await db
      .selectFrom('oauth_grants')
      .select('id')
      .where('expires_at', '<', now - DAY_MS)
      .limit(CHUNK)
      .execute();
    if (dead.length === 0) return;
    const ids = dead.map((g) => g.id);
    await db.deleteFrom('oauth_refresh_tokens').where('grant_id', 'in', ids).execute();
    await db.deleteFrom('oauth_grants').where('id', 'in', ids).execute();
  });
}
