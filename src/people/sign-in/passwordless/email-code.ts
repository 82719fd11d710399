import { randomInt } from 'node:crypto';
import { MINUTE_MS } from '../../../kernel/clock.ts';
import { keyedHash, keyedHashes } from '../../../kernel/encryption.ts';
import { secretsEqual } from '../../../kernel/secrets.ts';
import { brandOf, type Language } from '../../../pages/index.ts';
import type { Platform } from '../../../platform.ts';
import {
  assertMail,
  attempting,
  findUserByEmail,
  finishSignIn,
  mailTexts,
  proveAddress,
  refuse,
  type SignInDevice,
  type SignInResult,
  UserErrors,
} from '../../users/index.ts';
import type { VerifyCode } from './schema.ts';

const LIFETIME_MS = 5 * MINUTE_MS;
const TRIES = 3;
const PURPOSE = 'email code';

/**
 * Mails a code of six digits, good once, for 5 minutes and three tries, to who has an account; the code before it ends. Says nothing, by
 * text or time, about whether there is one. 503 MAIL_NOT_CONFIGURED.
 */
export async function sendEmailCode(platform: Platform, email: string, language: Language): Promise<void> {
  assertMail(platform);
  const row = await findUserByEmail(platform.database.read, email);
  platform.background.run('an e-mail code', async () => {
    if (!row?.email) return;
    const code = String(randomInt(1_000_000)).padStart(6, '0');
    await platform.ledger.change(async ({ db, now }) => {
      const key = platform.secrets().pepper[0] as { id: string; key: string };
      await db
        .deleteFrom('email_codes')
        .where((eb) => eb.or([eb('user_id', '=', row.id), eb('expires_at', '<=', now)]))
        .execute();
      await db
        .insertInto('email_codes')
        .values({
          user_id: row.id,
          code_hash: keyedHash(key, PURPOSE, row.id, code),
          tries_left: TRIES,
          created_at: now,
          expires_at: now + LIFETIME_MS,
        })
        .execute();
    });
    platform.mailer.send({ to: row.email, code, ...mailTexts(language).code(brandOf(platform), code) });
  });
}

/**
 * Signs in with a code: of many at once exactly one does, and of the wrong ones exactly three are compared. 401 INVALID_CODE for
 * whatever is wrong, an unknown address included.
 */
export async function useEmailCode(platform: Platform, input: VerifyCode, device: SignInDevice): Promise<SignInResult> {
  const code = input.otp.replace(/\s/g, '');
  return attempting<SignInResult>(platform, async (change) => {
    const { db, now } = change;
    const row = await findUserByEmail(db, input.email);
    // A try is taken before anything is compared.
    const open =
      row &&
      (await db
        .updateTable('email_codes')
        .set((eb) => ({ tries_left: eb('tries_left', '-', 1) }))
        .where('user_id', '=', row.id)
        .where('expires_at', '>', now)
        .where('tries_left', '>', 0)
        .returning('code_hash')
        .executeTakeFirst());
    const right =
      open !== undefined &&
      keyedHashes(platform.secrets().pepper, PURPOSE, row?.id ?? '', code).some((hash) =>
        secretsEqual(hash, open.code_hash),
      );
    if (!row || !right)
      return refuse(
        platform,
        change,
        { method: 'email-otp', email: input.email, userId: row?.id, ip: device.ip },
        UserErrors.INVALID_CODE({ reason: row ? 'email-code-wrong' : 'email-unknown' }),
      );
    await db.deleteFrom('email_codes').where('user_id', '=', row.id).execute();
    return finishSignIn(
      platform,
      change,
      await proveAddress(platform, change, row, device),
      { method: 'email-otp', rememberMe: input.rememberMe },
      device,
    );
  });
}
