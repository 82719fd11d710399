import { createHash, randomBytes } from 'node:crypto';
import type { UserPrincipal } from '../../access/principal.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { isAmong, keyedHash, keyedHashes, seal, unseal } from '../../kernel/encryption.ts';
import { type SecretHash, secretHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import type { AuthorizationRequest } from '../authorize/authorization-request.ts';
import { ClientErrors } from '../errors.ts';

/** How long a consent page can be open before it is submitted. */
const FORM_TTL_MS = HOUR_MS;
const FORM_PURPOSE = 'consent form';
const ANSWER_PURPOSE = 'consent answer';
/** Name of the field in the form and in the API. */
export const CONSENT_TOKEN = 'consentToken';

/** A consent form with a valid token. It can be submitted once. */
export interface ConsentForm {
  readonly tokenHash: SecretHash;
  readonly expiresAt: number;
}

/** Hashes the session and the request, so that a token is valid for these only. */
function bindingOf({ userId, via, credentialId }: UserPrincipal, authRequest: AuthorizationRequest): string {
  const { client, redirectUri, statedRedirectUri, state, challenge, scopes, target } = authRequest;
  const parts = [userId, via, credentialId, client.id, redirectUri, statedRedirectUri ?? null, state ?? null];
  return createHash('sha256')
    .update(JSON.stringify([...parts, challenge, scopes, target.resource]))
    .digest('base64url');
}

/** Returns a token for one consent form: `<random>.<time>.<keyed hash>`. Stores nothing. */
export function newConsentToken(
  { clock, secrets }: Pick<Platform, 'clock' | 'secrets'>,
  person: UserPrincipal,
  authRequest: AuthorizationRequest,
): string {
  const key = secrets().cookie[0] as Parameters<typeof keyedHash>[0];
  const text = `${randomBytes(24).toString('base64url')}.${clock.now().toString(36)}`;
  return `${text}.${keyedHash(key, FORM_PURPOSE, bindingOf(person, authRequest), text)}`;
}

/** Throws 403 CONSENT_TOKEN_INVALID unless the token was created for this session and request in the last hour. */
export function readConsentToken(
  { clock, secrets }: Pick<Platform, 'clock' | 'secrets'>,
  person: UserPrincipal,
  authRequest: AuthorizationRequest,
  token: string | undefined,
): ConsentForm {
  const [random = '', time = '', ...signature] = (token ?? '').split('.');
  const hashes = keyedHashes(secrets().cookie, FORM_PURPOSE, bindingOf(person, authRequest), `${random}.${time}`);
  const expiresAt = Number.parseInt(time, 36) + FORM_TTL_MS;
  const genuine = isAmong(hashes, signature.join('.'));
  if (token === undefined || !genuine || clock.now() >= expiresAt) throw ClientErrors.CONSENT_TOKEN_INVALID();
  return { tokenHash: secretHash(token), expiresAt };
}

/** The result of a consent form: the URL to redirect to, and the hash of the code that it contains, if any. */
export interface ConsentAnswer {
  readonly location: string;
  readonly codeHash: SecretHash | null;
  readonly validUntil: number;
}

/**
 * Marks the form as submitted, by one atomic statement. Returns undefined for the first submission. For a repeated one,
 * returns the first one's URL while the code in it can still be exchanged, and throws 409 CONSENT_ALREADY_GIVEN after
 * that.
 */
export async function consumeForm(
  { secrets }: Pick<Platform, 'secrets'>,
  { db, now }: Change,
  form: ConsentForm,
  { location, codeHash, validUntil }: ConsentAnswer,
): Promise<string | undefined> {
  const keys = secrets().cookie;
  const inserted = await db
    .insertInto('oauth_consent_answers')
    .values({
      token_hash: form.tokenHash,
      answer: seal(keys, ANSWER_PURPOSE, form.tokenHash, location),
      code_hash: codeHash,
      answer_expires_at: validUntil,
      expires_at: form.expiresAt,
    })
    .onConflict((oc) => oc.column('token_hash').doNothing())
    .returning('token_hash')
    .executeTakeFirst();
  if (inserted) return undefined;
  const first = await db
    .selectFrom('oauth_consent_answers')
    .leftJoin('oauth_codes', (join) =>
      join.onRef('oauth_codes.code_hash', '=', 'oauth_consent_answers.code_hash').on('oauth_codes.used_at', 'is', null),
    )
    .select(['answer', 'answer_expires_at', 'oauth_consent_answers.code_hash', 'oauth_codes.code_hash as live_code'])
    .where('token_hash', '=', form.tokenHash)
    .executeTakeFirst();
  const live = first && now < first.answer_expires_at && first.code_hash === first.live_code;
  if (!live || first.answer === null) throw ClientErrors.CONSENT_ALREADY_GIVEN();
  return unseal(keys, ANSWER_PURPOSE, form.tokenHash, first.answer);
}

/** Deletes forms that can no longer be submitted, and the stored URLs whose code has expired. */
export async function deleteExpiredForms(db: Db, now: number): Promise<void> {
  await db.deleteFrom('oauth_consent_answers').where('expires_at', '<', now).execute();
  await db
    .updateTable('oauth_consent_answers')
    .set({ answer: null })
    .where('answer_expires_at', '<', now)
    .where('answer', 'is not', null)
    .execute();
}
