import { chunk } from '../../kernel/chunk.ts';
import { newSecret, secretHash, secretKind } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Db, OneTimeTokenRow } from '../../storage/index.ts';

export type Purpose = OneTimeTokenRow['purpose'];

/** A secret that is good once. Sweeps away what has expired, whoever's it was. */
export async function createOneTimeToken(
  { db, now }: Change,
  purpose: Purpose,
  userId: string,
  lifetimeMs: number,
  data: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  await db.deleteFrom('one_time_tokens').where('expires_at', '<=', now).execute();
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

/** Makes room for one more of a kind: the oldest that a person has beyond `limit` - 1 end. `only` says which of them count. */
export async function replaceOldest(
  { db }: Change,
  purpose: Purpose,
  userId: string,
  limit: number,
  only: (data: string) => boolean,
): Promise<void> {
  const rows = await db
    .selectFrom('one_time_tokens')
    .select(['token_hash', 'data'])
    .where('user_id', '=', userId)
    .where('purpose', '=', purpose)
    .orderBy('created_at', 'desc')
    .orderBy('token_hash')
    .execute();
  const over = rows.filter(({ data }) => only(data)).slice(limit - 1);
  for (const some of chunk(over.map((row) => row.token_hash)))
    await db.deleteFrom('one_time_tokens').where('token_hash', 'in', some).execute();
}

/** How many of a kind a person has that can still be used. */
export async function countOneTimeTokens({ db, now }: Change, purpose: Purpose, userId: string): Promise<number> {
  const rows = await db
    .selectFrom('one_time_tokens')
    .select('token_hash')
    .where('user_id', '=', userId)
    .where('purpose', '=', purpose)
    .where('expires_at', '>', now)
    .limit(100)
    .execute();
  return rows.length;
}

/** The token if it can still be used. Does not use it. */
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

/** Uses a token: of many at once exactly one gets it. undefined: there is none to use. */
export async function takeOneTimeToken(
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

/** Ends every token of a person, or those for some purposes. */
export async function endOneTimeTokens({ db }: Change, userId: string, purposes?: readonly Purpose[]): Promise<void> {
  let query = db.deleteFrom('one_time_tokens').where('user_id', '=', userId);
  if (purposes) query = query.where('purpose', 'in', purposes);
  await query.execute();
}
