import { randomBytes } from 'node:crypto';
import { keyedHash, keyedHashes } from '../../../kernel/encryption.ts';
import type { Id } from '../../../kernel/ids.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';

const COUNT = 10;
const CHARS = 10;
/** Without look-alikes (0 and o; 1, l and i). Ten of 31 characters are 49 bits. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const PURPOSE = 'backup code';

const normalised = (code: string): string => code.toLowerCase().replace(/[\s-]/g, '');

function newCode(): string {
  let code = '';
  while (code.length < CHARS) {
    for (const byte of randomBytes(CHARS)) {
      // 248 is the largest multiple of 31 in a byte, so every character is equally likely.
      if (byte < 248 && code.length < CHARS) code += ALPHABET[byte % ALPHABET.length];
    }
  }
  return `${code.slice(0, 5)}-${code.slice(5)}`;
}

/** Replaces all backup codes with ten new ones. */
export async function replaceBackupCodes(
  { secrets }: Pick<Platform, 'secrets'>,
  { db }: Change,
  userId: Id<'user'>,
): Promise<string[]> {
  const codes = new Set<string>();
  while (codes.size < COUNT) codes.add(newCode());
  const key = secrets().pepper[0] as { id: string; key: string };
  await db.deleteFrom('backup_codes').where('user_id', '=', userId).execute();
  await db
    .insertInto('backup_codes')
    .values(
      [...codes].map((code) => ({ user_id: userId, code_hash: keyedHash(key, PURPOSE, userId, normalised(code)) })),
    )
    .execute();
  return [...codes];
}

/** Consumes a code; of concurrent requests exactly one succeeds. Returns false if the code does not exist. */
export async function consumeBackupCode(
  { secrets }: Pick<Platform, 'secrets'>,
  { db }: Change,
  userId: Id<'user'>,
  code: string,
): Promise<boolean> {
  const hashes = keyedHashes(secrets().pepper, PURPOSE, userId, normalised(code));
  const { numDeletedRows } = await db
    .deleteFrom('backup_codes')
    .where('user_id', '=', userId)
    .where('code_hash', 'in', hashes)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
