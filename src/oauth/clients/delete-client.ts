import { SYSTEM } from '../../access/actor.ts';
import type { Changer } from '../../access/caller.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { OAuthClientRow } from '../../storage/index.ts';
import { revokeUnusedAgents } from '../consent/consent-agent.ts';
import { deleteExpiredForms } from '../consent/consent-form.ts';
import { endGrants } from '../consent/grants.ts';
import { deleteExpiredDeviceRequests } from '../device/user-code.ts';
import { canBeClientId, getClientRow, toClientRecord, toSummary } from './client.ts';
import { deleteUnusedSince, findUnusedSince } from './delete-unused.ts';
import { isDocumentId, STALE_MS } from './metadata-document.ts';
import { deleteDocumentsBefore } from './stored-document.ts';

/** Returns a page of clients, newest first. */
export function listClients(
  { database }: Pick<Platform, 'database'>,
  page: { after: Id<'client'> | undefined; limit: number },
): Promise<OAuthClientRow[]> {
  let query = database.read.selectFrom('oauth_clients').selectAll();
  if (page.after !== undefined) query = query.where('id', '<', page.after);
  return query.orderBy('id', 'desc').limit(page.limit).execute();
}

/**
 * Deletes a client, ends its grants and revokes the agents that consents created for it. A client with a metadata
 * document has no row and is not listed; it can be deleted while it has a live grant, and can ask people again. Throws
 * 404 CLIENT_NOT_FOUND.
 */
export async function deleteClient(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Changer,
  id: Id<'client'>,
): Promise<void> {
  await ledger.change(caller.actor, async (change) => {
    const { db } = change;
    await caller.reauthorize(db);
    const granted =
      isDocumentId(id) && canBeClientId(id)
        ? await db
            .selectFrom('oauth_grants')
            .select('id')
            .where('client_id', '=', id)
            .where('revoked_at', 'is', null)
            .executeTakeFirst()
        : undefined;
    const row = granted ? undefined : await getClientRow(db, id);
    caller.assertUnchanged?.(row ? toClientRecord(row) : versioned({}, { id }));
    await endGrants(change, 'client_id', [id], 'client-deleted');
    await revokeUnusedAgents(change, id, 'client-deleted');
    for (const table of ['oauth_consents', 'oauth_codes', 'oauth_device_requests', 'oauth_client_agents'] as const)
      await db.deleteFrom(table).where('client_id', '=', id).execute();
    await db.deleteFrom('oauth_clients').where('id', '=', id).execute();
    change.emit({
      type: 'client.deleted',
      data: { clientId: id },
      ...(row ? { before: toSummary(row) } : {}),
    });
  });
}

const CHUNK = 500;

/** Deletes unused clients, expired codes and consent forms, and ended grants with their tokens. */
export async function deleteStale(platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger'>): Promise<void> {
  const now = platform.clock.now();
  const unusedBefore = now - platform.config.mcp.unusedClientDays * DAY_MS;
  while ((await findUnusedSince(platform.database.read, unusedBefore)).length > 0)
    await platform.ledger.change(SYSTEM, (change) => deleteUnusedSince(change, unusedBefore));
  await platform.ledger.maintain(async (db) => {
    // A used code is kept for an hour so that a second use is detected.
    await db
      .deleteFrom('oauth_codes')
      .where('expires_at', '<', now - DAY_MS / 24)
      .execute();
    await deleteExpiredForms(db, now);
    await deleteExpiredDeviceRequests(db, now);
    await deleteDocumentsBefore(db, now - STALE_MS);
    await db.deleteFrom('oauth_revoked_tokens').where('expires_at', '<', now).execute();
    const expired = await db
      .selectFrom('oauth_grants')
      .select('id')
      .where('expires_at', '<', now - DAY_MS)
      .limit(CHUNK)
      .execute();
    if (expired.length === 0) return;
    const ids = expired.map((g) => g.id);
    await db.deleteFrom('oauth_refresh_tokens').where('grant_id', 'in', ids).execute();
    await db.deleteFrom('oauth_grants').where('id', 'in', ids).execute();
  });
}
