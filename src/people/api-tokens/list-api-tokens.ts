import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { toApiToken } from './api-token.ts';
import type { ApiToken } from './schema.ts';

/**
 * Returns up to `limit` API tokens of a user after the id `after`, oldest first, expired ones included, without the
 * token values.
 */
export async function listApiTokens(
  { database }: Pick<Platform, 'database'>,
  userId: Id<'user'>,
  page: { limit: number; after: Id<'apiToken'> | undefined },
): Promise<ApiToken[]> {
  let query = database.read
    .selectFrom('api_tokens')
    .select(['id', 'name', 'scopes', 'created_at', 'expires_at', 'last_used_at'])
    .where('user_id', '=', userId);
  if (page.after !== undefined) query = query.where('id', '>', page.after);
  return (await query.orderBy('id').limit(page.limit).execute()).map(toApiToken);
}
