import type { Id } from '../../kernel/ids.ts';
import type { Change, NewEvent } from '../../ledger/index.ts';
import type { ApiTokenRow } from '../../storage/index.ts';
import { toApiToken } from './api-token.ts';

/** Ends the API tokens of a user in this change. Emits `token.revoked` for each that had not expired. */
export async function endApiTokens(change: Change, userId: Id<'user'>, reason: string): Promise<void> {
  const rows = await change.db.deleteFrom('api_tokens').where('user_id', '=', userId).returningAll().execute();
  for (const row of rows)
    if (row.expires_at === null || row.expires_at > change.now) change.emit(tokenRevoked(row, reason));
}

export const tokenRevoked = (row: ApiTokenRow, reason: string): NewEvent => ({
  type: 'token.revoked',
  userId: row.user_id,
  data: { tokenId: row.id, userId: row.user_id, reason },
  before: { ...toApiToken(row) },
});
