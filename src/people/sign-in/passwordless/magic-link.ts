import { SYSTEM } from '../../../access/actor.ts';
import { MINUTE_MS } from '../../../kernel/clock.ts';
import type { Id } from '../../../kernel/ids.ts';
import { brandOf, type Language } from '../../../pages/index.ts';
import type { Platform } from '../../../platform.ts';
import {
  assertMail,
  consumeOneTimeToken,
  createRequestedLink,
  findActiveUserByEmail,
  findOneTimeToken,
  findUser,
  finishSignIn,
  linkTo,
  mailTexts,
  markEmailVerified,
  recordFailure,
  type SignInDevice,
  type SignInResult,
  UserErrors,
  withSignInAudit,
} from '../../users/index.ts';
import { knownDeviceOf } from '../attempts/known-device.ts';

const LIFETIME_MS = 5 * MINUTE_MS;
const callbackOf = (data: string): string | undefined => (JSON.parse(data) as { callbackUrl?: string }).callbackUrl;

/**
 * Mails a sign-in link, valid once and for 5 minutes, if there is an account. Neither text nor time of the answer
 * reveals whether there is one. 503 MAIL_NOT_CONFIGURED.
 * @param callbackUrl a trusted address, to which the link leads
 * @param knownDevice the cookie of a browser in which the person has signed in
 */
export async function sendMagicLink(
  platform: Platform,
  { email, callbackUrl }: { readonly email: string; readonly callbackUrl: string | undefined },
  language: Language,
  knownDevice: string | undefined,
): Promise<void> {
  assertMail(platform);
  const row = await findActiveUserByEmail(platform.database.read, email);
  platform.background.run('a magic link', async () => {
    if (!row?.email) return;
    const token = await platform.ledger.change(SYSTEM, (change) =>
      createRequestedLink(change, 'magic-link', row, LIFETIME_MS, {
        callbackUrl,
        device: knownDeviceOf(platform, row, knownDevice),
      }),
    );
    if (token === undefined) return;
    const link = linkTo(platform, '/magic-link/verify', { token });
    platform.mailer.send({ to: row.email, link, ...mailTexts(language).magicLink(brandOf(platform), link) });
  });
}

/** Returns the content of a valid link without consuming it; undefined if it is invalid. */
export async function findMagicLink(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  token: string,
): Promise<{ callbackUrl: string | undefined; userId: Id<'user'> } | undefined> {
  const found = await findOneTimeToken(database.read, clock.now(), 'magic-link', token);
  return found && { callbackUrl: callbackOf(found.data), userId: found.user_id };
}

/**
 * Consumes a link and signs in; of concurrent requests exactly one succeeds. Returns the address to redirect to. 401
 * INVALID_TOKEN.
 */
export async function useMagicLink(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'ledger' | 'secrets' | 'stateOf'>,
  token: string,
  device: SignInDevice,
): Promise<{ result: SignInResult; callbackUrl: string | undefined }> {
  return withSignInAudit(platform, async (change) => {
    const used = await consumeOneTimeToken(change, 'magic-link', token);
    const row = used && (await findUser(change.db, used.user_id));
    if (!used || !row)
      return recordFailure(
        platform,
        change,
        { method: 'magic-link', ip: device.ip },
        UserErrors.INVALID_TOKEN({ reason: 'link-unknown' }),
      );
    const callbackUrl = callbackOf(used.data);
    const result = await finishSignIn(
      platform,
      change,
      await markEmailVerified(platform, change, row, device),
      { method: 'magic-link', rememberMe: true, callbackUrl },
      device,
    );
    return { result, callbackUrl };
  });
}
