import { invalidCredential } from '../../../kernel/errors.ts';
import { type Id, newId } from '../../../kernel/ids.ts';
import type { RefusalReason } from '../../../kernel/refusals.ts';
import type { Change } from '../../../ledger/index.ts';
import { brandOf, type Language } from '../../../pages/index.ts';
import type { Platform } from '../../../platform.ts';
import type { PasskeyRow, UserRow } from '../../../storage/index.ts';
import { parseDevice } from '../../sessions/index.ts';
import { FailedAttempt, findUser, type PersonCalling, sendNotice, withSignInAudit } from '../../users/index.ts';
import { consumeChallenge, createChallenge } from './challenges.ts';
import { PasskeyErrors } from './errors.ts';
import {
  ALGORITHMS,
  CHALLENGE_MS,
  challengeIn,
  loadWebAuthn,
  relyingPartyId,
  relyingPartyOrigin,
} from './relying-party.ts';
import type { Passkey, RegistrationOptions, VerifyRegistration } from './schema.ts';
import { findPasskeys, MAX_PASSKEYS, toPasskey } from './store.ts';

/** A person who calls with a session, and the data from which a new passkey gets its name. */
export interface Registering extends PersonCalling {
  readonly sessionId: Id<'session'>;
  readonly userAgent: string | null;
}

/** Returns the options for navigator.credentials.create(). 422 PASSKEY_LIMIT_EXCEEDED. */
export async function beginRegistration(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  person: Registering,
): Promise<RegistrationOptions> {
  const begun = await platform.ledger.change(person.actor, async (change) => {
    const user = await checkPerson(change, person);
    const existing = await findPasskeys(change.db, user.id);
    assertRoom(existing);
    return { user, existing, challenge: await createChallenge(change, 'register', person.sessionId) };
  });
  const { user, existing, challenge } = begun;
  const { generateRegistrationOptions } = await loadWebAuthn();
  const userName = user.email ?? user.id;
  const options = await generateRegistrationOptions({
    rpName: brandOf(platform),
    rpID: relyingPartyId(platform),
    userID: new TextEncoder().encode(user.id),
    userName,
    userDisplayName: user.name ?? userName,
    challenge,
    timeout: CHALLENGE_MS,
    attestationType: 'none',
    excludeCredentials: existing.map((row) => ({ id: row.credential_id, transports: toPasskey(row).transports })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  });
  const { rp, user: account, pubKeyCredParams, excludeCredentials = [] } = options;
  return {
    challenge: options.challenge,
    rp: { id: relyingPartyId(platform), name: rp.name },
    user: account,
    pubKeyCredParams: pubKeyCredParams.map(({ alg }) => ({ type: 'public-key', alg })),
    timeout: CHALLENGE_MS,
    excludeCredentials: excludeCredentials.map((known) => ({ ...known, type: 'public-key' })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
  };
}

/**
 * Checks the answer of an authenticator and adds the passkey. Each challenge is consumed, also by a wrong answer. 422
 * PASSKEY_REJECTED, 409 PASSKEY_EXISTS, 422 PASSKEY_LIMIT_EXCEEDED.
 */
export async function completeRegistration(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger' | 'mailer'>,
  person: Registering,
  { name, ...answer }: VerifyRegistration,
  language: Language,
): Promise<Passkey> {
  const verified = await verifyAnswer(platform, answer);
  const { row, user } = await withSignInAudit<{ row: PasskeyRow; user: UserRow }>(
    platform,
    async (change) => {
      const account = await checkPerson(change, person);
      const challenge = challengeIn(answer.response.clientDataJSON);
      const isFresh =
        challenge !== undefined && (await consumeChallenge(change, 'register', person.sessionId, challenge));
      if (!isFresh) return rejected('passkey-challenge-unknown');
      if (!verified) return rejected('passkey-answer-invalid');
      assertRoom(await findPasskeys(change.db, account.id));
      const added: PasskeyRow = {
        id: newId('passkey', change.now),
        user_id: account.id,
        ...verified,
        name: name ?? defaultName(platform, person.userAgent),
        created_at: change.now,
        last_used_at: null,
      };
      const { numInsertedOrUpdatedRows } = await change.db
        .insertInto('passkeys')
        .values(added)
        .onConflict((oc) => oc.column('credential_id').doNothing())
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows === 0n) return new FailedAttempt(PasskeyErrors.PASSKEY_EXISTS());
      // The new authenticator has verified the person, so this session now counts as begun with a passkey. If a second
      // factor is required, all rights of the user apply from now on.
      if (person.principal.secondFactorDue) change.invalidate();
      await change.db.updateTable('sessions').set({ both_factors: 1 }).where('id', '=', person.sessionId).execute();
      change.emit({
        type: 'passkey.added',
        userId: account.id,
        data: { passkeyId: added.id, userId: account.id, name: added.name },
        after: { ...toPasskey(added) },
      });
      return { row: added, user: account };
    },
    person.actor,
  );
  sendNotice(platform, user, language, (texts, brand) => texts.passkeyAdded(brand, row.name));
  return toPasskey(row);
}

const rejected = (reason: RefusalReason): FailedAttempt =>
  new FailedAttempt(PasskeyErrors.PASSKEY_REJECTED({ reason }));

async function checkPerson({ db }: Change, person: PersonCalling): Promise<UserRow> {
  await person.reauthorize(db);
  const user = await findUser(db, person.principal.userId);
  if (!user) throw invalidCredential('principal-ended');
  return user;
}

/** 422 PASSKEY_LIMIT_EXCEEDED. Exact inside a change, because changes are serialised. */
function assertRoom(existing: readonly PasskeyRow[]): void {
  if (existing.length >= MAX_PASSKEYS) throw PasskeyErrors.PASSKEY_LIMIT_EXCEEDED({ details: { limit: MAX_PASSKEYS } });
}

function defaultName({ config }: Pick<Platform, 'config'>, userAgent: string | null): string {
  const { browser, os } = parseDevice(config.multiSession.trackDevice ? userAgent : null);
  return browser === 'unknown' ? 'Passkey' : os === 'unknown' ? browser : `${browser} on ${os}`;
}

type Verified = Pick<PasskeyRow, 'credential_id' | 'public_key' | 'counter' | 'transports' | 'synced'>;

/** Checks an answer except its challenge (WebAuthn Level 3, section 7.1). Returns undefined if it is not valid. */
async function verifyAnswer(
  platform: Pick<Platform, 'baseUrl'>,
  { id, rawId, type, response }: Omit<VerifyRegistration, 'name'>,
): Promise<Verified | undefined> {
  const { decodeAttestationObject, verifyRegistrationResponse } = await loadWebAuthn();
  const { clientDataJSON, attestationObject, transports = [] } = response;
  try {
    if (!isUnattested(decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url'))))) return;
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: {
        id,
        rawId,
        type,
        response: { clientDataJSON, attestationObject, transports },
        clientExtensionResults: {},
      },
      expectedChallenge: () => true,
      expectedOrigin: relyingPartyOrigin(platform),
      expectedRPID: relyingPartyId(platform),
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified || registrationInfo.credential.id !== id) return;
    const { credential, credentialDeviceType } = registrationInfo;
    return {
      credential_id: credential.id,
      public_key: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      transports: JSON.stringify(transports),
      synced: credentialDeviceType === 'multiDevice' ? 1 : 0,
    };
  } catch {
    // The library throws for any answer that it cannot read or does not accept.
    return;
  }
}

type AttestationObject = ReturnType<Awaited<ReturnType<typeof loadWebAuthn>>['decodeAttestationObject']>;

/**
 * Returns whether an answer has no attestation, as requested, or a self attestation, signed with the new key.
 * Certificates are refused before the library reads them, because it would fetch the revocation lists that they name.
 */
function isUnattested(attestation: AttestationObject): boolean {
  const format = attestation.get('fmt');
  return format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined);
}
