import type { Changer } from '../../access/caller.ts';
import type { UserPrincipal } from '../../access/principal.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { newSecret, secretHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { ApiTokenRow, Db } from '../../storage/index.ts';
import { ensureExternalUser, findUser, UserErrors } from '../users/index.ts';
import { toApiToken } from './api-token.ts';
import { ApiTokenErrors } from './errors.ts';
import type { ApiTokenWithSecret, CreateApiToken } from './schema.ts';

/** The user for whom the token is created: by id (command line), or the authenticated user of a call. */
type Maker = { readonly userId: Id<'user'> } | UserPrincipal;

/** Maximum number of API tokens of a user. */
const MAX_PER_USER = 50;

/**
 * Creates an API token and returns it; it is never shown again. It has the rights of its user, narrowed to `scopes` if
 * present. A token created with an API token expires no later than that one. 403 FORBIDDEN, 404 USER_NOT_FOUND, 422
 * EXPIRES_AT_IN_PAST or API_TOKEN_LIMIT_EXCEEDED.
 */
export async function createApiToken(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Changer,
  maker: Maker,
  input: CreateApiToken,
): Promise<ApiTokenWithSecret> {
  const token = newSecret('apiToken');
  return ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    await caller.reauthorize(db);
    const expiresAt = input.expiresAt ?? null;
    if (expiresAt !== null && expiresAt <= now)
      throw ApiTokenErrors.EXPIRES_AT_IN_PAST({ details: { path: 'expiresAt' } });
    if ('via' in maker) await assertNotOutlived(change, maker, expiresAt);
    if (!(await findUser(db, maker.userId))) throw UserErrors.USER_NOT_FOUND();
    await assertRoom(db, maker.userId, now);
    const row: ApiTokenRow = {
      id: newId('apiToken', now),
      user_id: maker.userId,
      name: input.name,
      token_hash: secretHash(token),
      scopes: input.scopes ? JSON.stringify(input.scopes) : null,
      created_at: now,
      expires_at: expiresAt,
      last_used_at: null,
    };
    await db.insertInto('api_tokens').values(row).execute();
    const made = toApiToken(row);
    change.emit({
      type: 'token.created',
      userId: row.user_id,
      data: { tokenId: row.id, userId: row.user_id, name: row.name },
      after: { ...made },
    });
    return { ...made, token };
  });
}

/** Deletes expired tokens to make room. The limit is exact, because changes are serialised. */
async function assertRoom(db: Db, userId: Id<'user'>, now: number): Promise<void> {
  const rows = await db.selectFrom('api_tokens').select('expires_at').where('user_id', '=', userId).execute();
  if (rows.length < MAX_PER_USER) return;
  const live = rows.filter((row) => row.expires_at === null || row.expires_at > now).length;
  if (live >= MAX_PER_USER) throw ApiTokenErrors.API_TOKEN_LIMIT_EXCEEDED({ details: { limit: MAX_PER_USER } });
  await db.deleteFrom('api_tokens').where('user_id', '=', userId).where('expires_at', '<=', now).execute();
}

async function assertNotOutlived(change: Change, maker: UserPrincipal, expiresAt: number | null): Promise<void> {
  if (maker.via === 'external') await ensureExternalUser(change, maker);
  if (maker.via !== 'apiToken') return;
  if (maker.expiresAt !== null && (expiresAt === null || expiresAt > maker.expiresAt))
    throw CommonErrors.FORBIDDEN({
      message:
        'An API token cannot create one that expires later than itself. Set expiresAt to its own expiry or ' +
        'earlier.',
    });
}
