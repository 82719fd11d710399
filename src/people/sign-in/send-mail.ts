import { DAY_MS } from '../../kernel/clock.ts';
import { brandOf, type Language, pathOf } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { UserRow } from '../../storage/index.ts';
import { UserErrors } from '../users/errors.ts';
import { findUser } from '../users/store.ts';
import { linkTo } from './callback-url.ts';
import { mailTexts } from './mail-texts.ts';
import { countOneTimeTokens, createOneTimeToken } from './one-time-token.ts';

const VERIFICATION_MS = DAY_MS;
/** So many links of one kind may be out for a person: nobody's mailbox is filled by asking again and again. */
export const MAX_LINKS = 10;

/** 503 MAIL_NOT_CONFIGURED: in production without `mail.url`. */
export function assertMail(platform: Platform): void {
  if (!platform.mailer.available) throw UserErrors.MAIL_NOT_CONFIGURED();
}

/** What a sign-up chose: it becomes that of the account when its mail is opened first. */
export interface SignedUpAs {
  readonly name: string | null;
  readonly passwordHash: string;
}

/** A link that verifies the person's address, and with it what the sign-up chose that it was sent for; nothing when it is verified, or when too many links are out. Runs behind the answer. */
export async function sendVerification(
  platform: Platform,
  { id }: UserRow,
  callbackUrl: string | undefined,
  language: Language,
  signedUpAs?: SignedUpAs,
): Promise<void> {
  const found = await platform.ledger.change(async (change) => {
    const row = await findUser(change.db, id);
    if (!row?.email || row.email_verified === 1 || (await countOneTimeTokens(change, 'verify-email', id)) >= MAX_LINKS)
      return undefined;
    return {
      email: row.email,
      token: await createOneTimeToken(change, 'verify-email', id, VERIFICATION_MS, { callbackUrl, signedUpAs }),
    };
  });
  if (!found) return;
  const link = linkTo(platform, '/verify-email', { token: found.token });
  platform.mailer.send({ to: found.email, link, ...mailTexts(language).verifyEmail(brandOf(platform), link) });
}

/** Told to who has the address already, when it was signed up with again. */
export function sendAddressTaken(platform: Platform, { email }: UserRow, language: Language): void {
  if (email)
    platform.mailer.send({
      to: email,
      ...mailTexts(language).addressTaken(brandOf(platform), platform.baseUrl + pathOf(platform, '/account/sign-in')),
    });
}

/** Told after every change of a password, so that who did not make it learns of it. */
export function sendPasswordChanged(platform: Platform, { email }: UserRow, language: Language): void {
  if (email) platform.mailer.send({ to: email, ...mailTexts(language).passwordChanged(brandOf(platform)) });
}
