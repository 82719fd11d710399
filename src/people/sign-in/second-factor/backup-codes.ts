import { randomBytes } from 'node:crypto';
import { keyedHash, keyedHashes } from '../../../kernel/encryption.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';

const COUNT = 10;
const CHARS = 10;
/** Without what is mistaken for something else: 0 and o, 1 and l and i. Thirty-one letters and digits, ten of them: 49 bits. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const PURPOSE = 'backup code';

const normalised = (code: string): string => code.toLowerCase().replace(/[\s-]/g, '');

function newCode(): string {
  let code = '';
  while (code.length < CHARS) {
    for (const byte of randomBytes(CHARS)) {
      // 248 is the last multiple of 31: every letter is as likely as any other.
      if (byte < 248 && code.length < CHARS) code += ALPHABET[byte % ALPHABET.length];
    }
  }
  return `${code.slice(0, 5)}-${code.slice(5)}`;
}

/** Ten new codes in place of all that there were. */
export async function replaceBackupCodes(platform: Platform, { db }: Change, userId: string): Promise<string[]> {
  const codes = new Set<string>();
  while (codes.size < COUNT) codes.add(newCode());
  const key = platform.secrets().pepper[0] as { id: string; key: string };
  await db.deleteFrom('backup_codes').where('user_id', '=', userId).execute();
  await db
    .insertInto('backup_codes')
    .values(
      [...codes].map((code) => ({ user_id: userId, code_hash: keyedHash(key, PURPOSE, userId, normalised(code)) })),
    )
    .execute();
  return [...codes];
}

/** Uses a code up: of many at once exactly one gets it. False when there is no such code. */
export async function takeBackupCode(
  platform: Platform,
  { db }: Change,
  userId: string,
  code: string,
): Promise<boolean> {
  const hashes = keyedHashes(platform.secrets().pepper, PURPOSE, userId, normalised(code));
  const { numDeletedRows } = await db
    .deleteFrom('backup_codes')
    .where('user_id', '=', userId)
    .where('code_hash', 'in', hashes)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
