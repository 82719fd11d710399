import type { PlainText } from '../../kernel/branded.ts';
import { chunk } from '../../kernel/chunk.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import { newSecret, secretHash, secretKind } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Db, OneTimeTokenRow } from '../../storage/index.ts';

export type Purpose = OneTimeTokenRow['purpose'];

/** Expired tokens are kept this long, to count the mails of the last hour. */
const KEPT_AFTER_EXPIRY_MS = HOUR_MS;

/** Creates a token that can be used once, and deletes tokens of any user that expired more than an hour ago. */
export async function createOneTimeToken(
  { db, now }: Change,
  purpose: Purpose,
  userId: Id<'user'>,
  lifetimeMs: number,
  data: Readonly<Record<string, unknown>> = {},
): Promise<PlainText> {
  await db
    .deleteFrom('one_time_tokens')
    .where('expires_at', '<=', now - KEPT_AFTER_EXPIRY_MS)
    .execute();
  const token = newSecret('oneTimeToken');
  await db
    .insertInto('one_time_tokens')
    .values({
      token_hash: secretHash(token),
      purpose,
      user_id: userId,
      data: JSON.stringify(data),
      failures: 0,
      created_at: now,
      expires_at: now + lifetimeMs,
    })
    .execute();
  return token;
}

/**
 * Makes room for one more token: expires the user's oldest tokens of a purpose beyond `limit` - 1.
 * @param counts whether a token with this data counts
 */
export async function expireOldest(
  { db, now }: Change,
  purpose: Purpose,
  userId: Id<'user'>,
  limit: number,
  counts: (data: string) => boolean = () => true,
): Promise<void> {
  const rows = await db
    .selectFrom('one_time_tokens')
    .select(['token_hash', 'data'])
    .where('user_id', '=', userId)
    .where('purpose', '=', purpose)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('token_hash')
    .execute();
  const excess = rows.filter(({ data }) => counts(data)).slice(limit - 1);
  for (const some of chunk(excess.map((row) => row.token_hash)))
    await db.updateTable('one_time_tokens').set({ expires_at: now }).where('token_hash', 'in', some).execute();
}

/**
 * Counts the user's tokens of a purpose that were created after `since`, at most an hour ago, and not used.
 * @param counts whether a token with this data counts
 */
export async function countCreatedSince(
  { db }: Change,
  purpose: Purpose,
  userId: Id<'user'>,
  since: number,
  counts: (data: string) => boolean,
): Promise<number> {
  const rows = await db
    .selectFrom('one_time_tokens')
    .select('data')
    .where('user_id', '=', userId)
    .where('purpose', '=', purpose)
    .where('created_at', '>', since)
    .execute();
  return rows.filter(({ data }) => counts(data)).length;
}

/** Returns the token if it is valid, without consuming it. */
export async function findOneTimeToken(
  db: Db,
  now: number,
  purpose: Purpose,
  token: string,
): Promise<OneTimeTokenRow | undefined> {
  if (secretKind(token) !== 'oneTimeToken') return undefined;
  return db
    .selectFrom('one_time_tokens')
    .selectAll()
    .where('token_hash', '=', secretHash(token))
    .where('purpose', '=', purpose)
    .where('expires_at', '>', now)
    .executeTakeFirst();
}

/** Consumes a token; of concurrent requests exactly one succeeds. Returns undefined if there is no such token. */
export async function consumeOneTimeToken(
  { db, now }: Change,
  purpose: Purpose,
  token: string,
): Promise<OneTimeTokenRow | undefined> {
  if (secretKind(token) !== 'oneTimeToken') return undefined;
  return db
    .deleteFrom('one_time_tokens')
    .where('token_hash', '=', secretHash(token))
    .where('purpose', '=', purpose)
    .where('expires_at', '>', now)
    .returningAll()
    .executeTakeFirst();
}

/** Deletes all tokens of a user, or those of some purposes. */
export async function deleteOneTimeTokens(
  { db }: Change,
  userId: Id<'user'>,
  purposes?: readonly Purpose[],
): Promise<void> {
  let query = db.deleteFrom('one_time_tokens').where('user_id', '=', userId);
  if (purposes) query = query.where('purpose', 'in', purposes);
  await query.execute();
}
