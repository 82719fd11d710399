import type { Changer } from '../../access/caller.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { tokenRevoked } from './end-api-tokens.ts';
import { ApiTokenErrors } from './errors.ts';

/** Revokes an API token immediately, on every instance. 404 API_TOKEN_NOT_FOUND also for a token of another user. */
export async function revokeApiToken(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Changer,
  id: Id<'apiToken'>,
): Promise<void> {
  if (!/^tok_[0-9a-z]{26}$/.test(id)) throw ApiTokenErrors.API_TOKEN_NOT_FOUND();
  await ledger.change(caller.actor, async (change) => {
    const visibility = await caller.reauthorize(change.db);
    let query = change.db.deleteFrom('api_tokens').where('id', '=', id);
    if (visibility.kind !== 'all') query = query.where('user_id', '=', visibility.userId);
    const row = await query.returningAll().executeTakeFirst();
    if (!row) throw ApiTokenErrors.API_TOKEN_NOT_FOUND();
    change.invalidate();
    change.emit(tokenRevoked(row, 'revoked'));
  });
}
