import { isoTime } from '../../../kernel/clock.ts';
import type { Id } from '../../../kernel/ids.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Db, PasskeyRow } from '../../../storage/index.ts';
import type { Passkey } from './schema.ts';

/** Largest number of passkeys of a user. */
export const MAX_PASSKEYS = 20;

export const toPasskey = (row: PasskeyRow): Passkey => ({
  id: row.id,
  name: row.name,
  synced: row.synced === 1,
  transports: JSON.parse(row.transports) as string[],
  createdAt: isoTime(row.created_at),
  lastUsedAt: row.last_used_at === null ? null : isoTime(row.last_used_at),
});

/** Returns the passkeys of a user, oldest first. */
export const findPasskeys = (db: Db, userId: Id<'user'>): Promise<PasskeyRow[]> =>
  db
    .selectFrom('passkeys')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .limit(MAX_PASSKEYS)
    .execute();

export const findByCredential = (db: Db, credentialId: string): Promise<PasskeyRow | undefined> =>
  db.selectFrom('passkeys').selectAll().where('credential_id', '=', credentialId).executeTakeFirst();

/** Why a passkey was removed. */
type RemovalReason = 'removed' | 'second-factor-reset';

/**
 * Removes one passkey of a user, or all of them, and emits `passkey.removed` for each. Of concurrent calls exactly one
 * removes a passkey.
 */
export async function deletePasskeys(
  { db, emit }: Pick<Change, 'db' | 'emit'>,
  userId: Id<'user'>,
  reason: RemovalReason,
  id?: Id<'passkey'>,
): Promise<PasskeyRow[]> {
  let query = db.deleteFrom('passkeys').where('user_id', '=', userId);
  if (id !== undefined) query = query.where('id', '=', id);
  const rows = await query.returningAll().execute();
  for (const row of rows)
    emit({
      type: 'passkey.removed',
      userId,
      data: { passkeyId: row.id, userId, reason },
      before: { ...toPasskey(row) },
    });
  return rows;
}
