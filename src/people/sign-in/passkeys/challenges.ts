import { randomBytes } from 'node:crypto';
import { secretHash } from '../../../kernel/secrets.ts';
import type { Change } from '../../../ledger/index.ts';
import type { PasskeyChallengesTable } from '../../../storage/index.ts';
import { browserCookie } from '../browser-cookie.ts';
import { CHALLENGE_MS } from './relying-party.ts';

type Purpose = PasskeyChallengesTable['purpose'];

/** At least 16 are required (WebAuthn Level 3, section 13.4.3). */
const BYTES = 32;

/** Identifies the browser that asked for the challenge of a sign-in. */
export const passkeyCookie = browserCookie('passkey', CHALLENGE_MS);

/**
 * Creates a challenge for one session or browser, in place of an earlier one, and deletes expired ones.
 * @param boundTo id of the session, or hash of the cookie
 */
export async function createChallenge(
  { db, now }: Change,
  purpose: Purpose,
  boundTo: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = new Uint8Array(randomBytes(BYTES));
  await db
    .deleteFrom('passkey_challenges')
    .where((eb) => eb.or([eb('expires_at', '<=', now), eb('bound_to', '=', boundTo)]))
    .execute();
  await db
    .insertInto('passkey_challenges')
    .values({
      challenge_hash: secretHash(Buffer.from(challenge).toString('base64url')),
      purpose,
      bound_to: boundTo,
      expires_at: now + CHALLENGE_MS,
    })
    .execute();
  return challenge;
}

/** Consumes a challenge; of concurrent answers exactly one succeeds. Returns false if there is no such challenge. */
export async function consumeChallenge(
  { db, now }: Change,
  purpose: Purpose,
  boundTo: string,
  challenge: string,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('passkey_challenges')
    .where('challenge_hash', '=', secretHash(challenge))
    .where('purpose', '=', purpose)
    .where('bound_to', '=', boundTo)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
