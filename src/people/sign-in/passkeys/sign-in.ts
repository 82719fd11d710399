import { UNKNOWN } from '../../../access/actor.ts';
import type { LegateError } from '../../../kernel/errors.ts';
import type { RefusalReason } from '../../../kernel/refusals.ts';
import { newSecret, secretHash } from '../../../kernel/secrets.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { PasskeyRow } from '../../../storage/index.ts';
import {
  findUser,
  recordFailure,
  type SignedInResult,
  type SignInDevice,
  startSession,
  UserErrors,
  withSignInAudit,
} from '../../users/index.ts';
import { consumeChallenge, createChallenge } from './challenges.ts';
import { PasskeyErrors } from './errors.ts';
import { CHALLENGE_MS, challengeIn, loadWebAuthn, relyingPartyId, relyingPartyOrigin } from './relying-party.ts';
import type { SignInOptions, VerifyPasskeySignIn } from './schema.ts';
import { findByCredential } from './store.ts';

/**
 * Returns the options for navigator.credentials.get(), and the secret that binds the challenge to this browser. The
 * options do not name passkeys, so they do not reveal whether an account exists.
 */
export async function beginPasskeySignIn(
  platform: Pick<Platform, 'baseUrl' | 'ledger'>,
): Promise<{ options: SignInOptions; browser: string }> {
  const browser = newSecret('oneTimeToken');
  const challenge = await platform.ledger.change(UNKNOWN, (change) =>
    createChallenge(change, 'sign-in', secretHash(browser)),
  );
  const { generateAuthenticationOptions } = await loadWebAuthn();
  const options = await generateAuthenticationOptions({
    rpID: relyingPartyId(platform),
    challenge,
    timeout: CHALLENGE_MS,
    userVerification: 'required',
  });
  return {
    browser,
    options: {
      challenge: options.challenge,
      rpId: relyingPartyId(platform),
      timeout: CHALLENGE_MS,
      userVerification: 'required',
      allowCredentials: [],
    },
  };
}

/**
 * Signs in with a passkey, which counts as both factors. Each challenge is consumed, also by a wrong answer. 401
 * INVALID_PASSKEY for any failure, also for a suspended user; 403 EMAIL_NOT_VERIFIED if addresses must be verified.
 * @param browser the secret of {@link beginPasskeySignIn}
 */
export async function completePasskeySignIn(
  platform: Platform,
  answer: VerifyPasskeySignIn,
  browser: string | undefined,
  device: SignInDevice,
): Promise<SignedInResult> {
  const found = await findByCredential(platform.database.read, answer.id);
  const verified = found && (await verifyAnswer(platform, found, answer));
  return withSignInAudit<SignedInResult>(platform, async (change) => {
    const isFresh = await consumeAnswered(change, answer, browser);
    const passkey = found && (await findByCredential(change.db, answer.id));
    const user = passkey && (await findUser(change.db, passkey.user_id));
    const attempt = { method: 'passkey', email: user?.email, userId: user?.id, ip: device.ip };
    const refuse = (error: LegateError) => recordFailure(platform, change, attempt, error);
    const invalid = (reason: RefusalReason) => refuse(PasskeyErrors.INVALID_PASSKEY({ reason }));
    if (!isFresh) return invalid('passkey-challenge-unknown');
    // A passkey that was removed and added again has another id.
    if (!user || passkey?.id !== found?.id) return invalid('passkey-unknown');
    if (answer.response.userHandle !== Buffer.from(user.id).toString('base64url'))
      return invalid('passkey-of-another-account');
    if (!verified) return invalid('passkey-answer-invalid');
    if (user.suspended_at !== null) return invalid('owner-suspended');
    if (!(await moveCounter(change, passkey.id, verified.counter))) return invalid('passkey-counter-back');
    if (platform.config.users.requireEmailVerification && user.email_verified !== 1)
      return refuse(UserErrors.EMAIL_NOT_VERIFIED({ reason: 'email-unverified' }));
    return startSession(platform, change, user, 'passkey', answer.rememberMe, device, { bothFactors: true });
  });
}

async function consumeAnswered(
  change: Change,
  { response }: VerifyPasskeySignIn,
  browser: string | undefined,
): Promise<boolean> {
  const challenge = challengeIn(response.clientDataJSON);
  if (challenge === undefined || browser === undefined) return false;
  return consumeChallenge(change, 'sign-in', secretHash(browser), challenge);
}

/**
 * Stores the use of a passkey and its counter, in one statement. Returns false if the counter did not advance, unless
 * the authenticator has none.
 */
async function moveCounter({ db, now }: Change, id: PasskeyRow['id'], counter: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('passkeys')
    .set({ counter, last_used_at: now })
    .where('id', '=', id)
    .where((eb) => eb.or([eb('counter', '<', counter), ...(counter === 0 ? [eb('counter', '=', 0)] : [])]))
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/**
 * Checks an answer except challenge and counter (WebAuthn Level 3, section 7.2). Returns undefined if it is not valid.
 */
async function verifyAnswer(
  platform: Pick<Platform, 'baseUrl'>,
  passkey: PasskeyRow,
  { id, rawId, type, response }: VerifyPasskeySignIn,
): Promise<{ readonly counter: number } | undefined> {
  const { verifyAuthenticationResponse } = await loadWebAuthn();
  const { clientDataJSON, authenticatorData, signature } = response;
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        id,
        rawId,
        type,
        response: { clientDataJSON, authenticatorData, signature },
        clientExtensionResults: {},
      },
      expectedChallenge: () => true,
      expectedOrigin: relyingPartyOrigin(platform),
      expectedRPID: relyingPartyId(platform),
      requireUserVerification: true,
      credential: {
        id: passkey.credential_id,
        publicKey: new Uint8Array(Buffer.from(passkey.public_key, 'base64url')),
        // The counter is compared by the statement that stores it.
        counter: 0,
      },
    });
    const isSynced = authenticationInfo.credentialDeviceType === 'multiDevice';
    if (!verified || isSynced !== (passkey.synced === 1)) return undefined;
    return { counter: authenticationInfo.newCounter };
  } catch {
    // The library throws for any answer that it cannot read or does not accept.
    return undefined;
  }
}
