import { SYSTEM } from '../../access/actor.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import type { PasswordHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import { brandOf, type Language, pathOf } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { UserRow } from '../../storage/index.ts';
import { UserErrors } from '../users/errors.ts';
import { findToMail } from '../users/store.ts';
import { linkTo } from './callback-url.ts';
import { type MailText, type MailTexts, mailTexts } from './mail-texts.ts';
import { countCreatedSince, createOneTimeToken, expireOldest } from './one-time-token.ts';

const VERIFICATION_MS = DAY_MS;
/** Largest number of valid links of one purpose for a user. A further link replaces the oldest. */
const MAX_LINKS = 10;
/**
 * Mails of one purpose that are sent to one mailbox within an hour, regardless of who requests them. Each known browser
 * of the user has the same number in addition.
 */
const MAX_MAILS_AN_HOUR = 30;

/**
 * Creates the token of a link that anybody can request for an address. Returns undefined if 30 such links were sent to
 * the mailbox within the hour, or the user no longer has the address. Links for a known browser of the user are counted
 * separately, so that requests of others cannot prevent the user from getting one.
 * @param user as read before
 * @param device the name of that browser
 */
export async function createRequestedLink(
  change: Change,
  purpose: 'magic-link' | 'password-reset',
  user: Pick<UserRow, 'id' | 'email_key'>,
  lifetimeMs: number,
  { device, ...data }: Readonly<Record<string, unknown>> & { readonly device?: string | undefined } = {},
): Promise<string | undefined> {
  if (!(await findToMail(change.db, user))) return undefined;
  const isOfDevice = (text: string): boolean => (JSON.parse(text) as { device?: string }).device === device;
  const sent = await countCreatedSince(change, purpose, user.id, change.now - HOUR_MS, isOfDevice);
  if (sent >= MAX_MAILS_AN_HOUR) return undefined;
  await expireOldest(change, purpose, user.id, MAX_LINKS, isOfDevice);
  return createOneTimeToken(change, purpose, user.id, lifetimeMs, { ...data, device });
}

/** 503 MAIL_NOT_CONFIGURED: in production without `mail.url`. */
export function assertMail({ mailer }: Pick<Platform, 'mailer'>): void {
  if (!mailer.available) throw UserErrors.MAIL_NOT_CONFIGURED();
}

/**
 * Largest number of valid links of sign-ups with one address. Each sign-up has its own link, so that one cannot use up
 * the links of another.
 */
const MAX_SIGN_UPS = 100;

/** The name and password that a sign-up chose. They apply to the account if its mail is opened first. */
export interface SignedUpAs {
  readonly name: string | null;
  readonly passwordHash: PasswordHash;
}

/**
 * Mails a link that verifies the user's address and confirms what this sign-up chose. Sends it unless the address is
 * already verified or has been replaced; the newest link replaces the oldest. Runs after the answer.
 */
export async function sendVerification(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger' | 'mailer'>,
  user: UserRow,
  callbackUrl: string | undefined,
  language: Language,
  signedUpAs?: SignedUpAs,
): Promise<void> {
  const found = await platform.ledger.change(SYSTEM, async (change) => {
    const row = await findToMail(change.db, user);
    if (!row?.email || row.email_verified === 1) return undefined;
    const asked = signedUpAs === undefined;
    await expireOldest(
      change,
      'verify-email',
      user.id,
      asked ? MAX_LINKS : MAX_SIGN_UPS,
      (data) => (JSON.parse(data) as { asked: boolean }).asked === asked,
    );
    const data = { callbackUrl, asked, signedUpAs: signedUpAs ?? onlySignUpOf(platform, row) };
    return {
      email: row.email,
      token: await createOneTimeToken(change, 'verify-email', user.id, VERIFICATION_MS, data),
    };
  });
  if (!found) return;
  const link = linkTo(platform, '/verify-email', { token: found.token });
  platform.mailer.send({ to: found.email, link, ...mailTexts(language).verifyEmail(brandOf(platform), link) });
}

/** Tells the owner of an address that somebody signed up with it again. */
export function sendAddressTaken(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'mailer'>,
  { email }: UserRow,
  language: Language,
): void {
  if (email)
    platform.mailer.send({
      to: email,
      ...mailTexts(language).addressTaken(brandOf(platform), platform.baseUrl + pathOf(platform, '/account/sign-in')),
    });
}

/**
 * Returns what the first sign-up with an address chose, if addresses must be verified and there was only one. In all
 * other cases a link that anybody can request does not prove who chose the password.
 */
const onlySignUpOf = (
  { config }: Pick<Platform, 'config'>,
  { name, password_hash: passwordHash }: UserRow,
): SignedUpAs | undefined =>
  config.users.requireEmailVerification && passwordHash !== null ? { name, passwordHash } : undefined;

/** Tells a user about a change of their account, in case it was not them. Does nothing if the user has no address. */
export function sendNotice(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'mailer'>,
  { email }: Pick<UserRow, 'email'>,
  language: Language,
  textOf: (texts: MailTexts, brand: string) => MailText,
): void {
  if (email) platform.mailer.send({ to: email, ...textOf(mailTexts(language), brandOf(platform)) });
}
