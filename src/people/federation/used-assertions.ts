import { hash } from 'node:crypto';
import { SECOND_MS } from '../../kernel/clock.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type Database, type Db, prepared } from '../../storage/index.ts';
import type { Unverified } from './unverified.ts';
import { LEEWAY_SECONDS, type SignedClaims } from './verify-assertion.ts';

/**
 * Returns whether this is the first use of an assertion on any instance. An assertion without `jti` is identified by a
 * hash of its signed part. The signature is left out, because an ECDSA signature has a second valid form.
 */
export async function useOnce(
  database: Database,
  { db }: Change,
  { signed }: Unverified,
  { iss, jti, exp }: SignedClaims,
): Promise<boolean> {
  const id = jti === undefined ? ['hash', signed] : ['jti', jti];
  return useKeyOnce(database, db, [iss, ...id], (Math.ceil(exp) + LEEWAY_SECONDS + 1) * SECOND_MS);
}

/** Returns whether this is the first use of a key on any instance before `expiresAt`. */
export async function useKeyOnce(
  database: Database,
  db: Db,
  parts: readonly string[],
  expiresAt: number,
): Promise<boolean> {
  return (await insertKey(database, db, keyHash(parts), expiresAt)) !== undefined;
}

/** Returns no row if the key is there already. */
const insertKey = prepared((db, key: string, expiresAt: number) =>
  db
    .insertInto('used_assertions')
    .values({ key_hash: key, expires_at: expiresAt })
    .onConflict((oc) => oc.column('key_hash').doNothing())
    .returning('key_hash')
    .compile(),
);

/** Returns whether a key was used and is still stored. */
export const isKeyUsed = async (db: Db, parts: readonly string[]): Promise<boolean> =>
  (await expiryOfKey(db, parts)) !== undefined;

/** Stores a key, or its new expiry, and does not count as a use. */
export async function renewKey(db: Db, parts: readonly string[], expiresAt: number): Promise<void> {
  await db
    .insertInto('used_assertions')
    .values({ key_hash: keyHash(parts), expires_at: expiresAt })
    .onConflict((oc) => oc.column('key_hash').doUpdateSet({ expires_at: expiresAt }))
    .execute();
}

/** Returns the expiry of a key that is still stored. */
export async function expiryOfKey(db: Db, parts: readonly string[]): Promise<number | undefined> {
  const row = await db
    .selectFrom('used_assertions')
    .select('expires_at')
    .where('key_hash', '=', keyHash(parts))
    .executeTakeFirst();
  return row?.expires_at;
}

const keyHash = (parts: readonly string[]): string => hash('sha256', JSON.stringify(parts), 'base64url');

/** Deletes the keys of expired assertions. */
export async function deleteExpiredAssertions({ ledger, clock }: Pick<Platform, 'clock' | 'ledger'>): Promise<void> {
  await ledger.maintain(async (db) => {
    await db.deleteFrom('used_assertions').where('expires_at', '<', clock.now()).execute();
  });
}
