import { SYSTEM } from '../../access/actor.ts';
import type { Change } from '../../ledger/index.ts';
import type { Db, OAuthClientRow } from '../../storage/index.ts';
import { toSummary } from './client.ts';

/** Maximum number of clients that one change deletes. After the limit was lowered, several changes are needed. */
const MAX_DELETED = 100;

/** Returns self-registered clients that were never used. */
const unused = (db: Db) =>
  db
    .selectFrom('oauth_clients')
    .selectAll()
    .where('last_used_at', 'is', null)
    .where('origin', '=', 'self')
    .limit(MAX_DELETED);

/** Deletes the oldest unused clients beyond `max`, so that they cannot fill the disk. */
export const deleteSurplus = async (change: Change, max: number): Promise<void> =>
  deleteClients(
    change,
    await unused(change.db).orderBy('created_at', 'desc').orderBy('id', 'desc').offset(max).execute(),
  );

export const findUnusedSince = (db: Db, before: number): Promise<OAuthClientRow[]> =>
  unused(db).where('created_at', '<', before).execute();

/** Deletes clients that were registered before a time and never used. */
export const deleteUnusedSince = async (change: Change, before: number): Promise<void> =>
  deleteClients(change, await findUnusedSince(change.db, before));

async function deleteClients(change: Change, rows: readonly OAuthClientRow[]): Promise<void> {
  if (rows.length === 0) return;
  const ids = rows.map(({ id }) => id);
  await change.db.deleteFrom('oauth_clients').where('id', 'in', ids).execute();
  const { actor } = change;
  // The actor is the service, not the person or client whose registration exceeded the limit.
  change.actAs(SYSTEM);
  for (const row of rows)
    change.emit({
      type: 'client.deleted',
      data: { clientId: row.id, reason: 'unused' },
      before: toSummary(row),
    });
  change.actAs(actor);
}
