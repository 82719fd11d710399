import { createHash, randomBytes } from 'node:crypto';
import type { UserPrincipal } from '../../access/principal.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { keyedHash, keyedHashes, seal, unseal } from '../../kernel/encryption.ts';
import { secretHash, secretsEqual } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import type { AuthorizationRequest } from '../authorize/authorization-request.ts';
import { ClientErrors } from '../errors.ts';

/** How long a consent page can stay open before it is answered. */
const FORM_TTL_MS = HOUR_MS;
const FORM_PURPOSE = 'consent form';
const ANSWER_PURPOSE = 'consent answer';
/** Name of the value in the form and in the API. */
export const CONSENT_TOKEN = 'consentToken';

/** A consent form whose token fits the session and the request. It can be answered once. */
export interface ConsentForm {
  readonly tokenHash: string;
  readonly expiresAt: number;
}

/** The session and everything of the request that an answer depends on, so a token is worth nothing with another of either. */
function bindingOf({ userId, via, credentialId }: UserPrincipal, asked: AuthorizationRequest): string {
  const { client, redirectUri, statedRedirectUri, state, challenge, scopes, target } = asked;
  const parts = [userId, via, credentialId, client.id, redirectUri, statedRedirectUri ?? null, state ?? null];
  return createHash('sha256')
    .update(JSON.stringify([...parts, challenge, scopes, target.resource]))
    .digest('base64url');
}

/** A token for one consent form: `<random>.<time>.<keyed hash>`. Nothing is stored until it is answered. */
export function newConsentToken(platform: Platform, person: UserPrincipal, asked: AuthorizationRequest): string {
  const key = platform.secrets().cookie[0] as Parameters<typeof keyedHash>[0];
  const text = `${randomBytes(24).toString('base64url')}.${platform.clock.now().toString(36)}`;
  return `${text}.${keyedHash(key, FORM_PURPOSE, bindingOf(person, asked), text)}`;
}

/** Throws 403 CONSENT_TOKEN_INVALID unless the token was made for this session and request, less than an hour ago. */
export function readConsentToken(
  platform: Platform,
  person: UserPrincipal,
  asked: AuthorizationRequest,
  token: string | undefined,
): ConsentForm {
  const [random = '', time = '', ...signature] = (token ?? '').split('.');
  const hashes = keyedHashes(platform.secrets().cookie, FORM_PURPOSE, bindingOf(person, asked), `${random}.${time}`);
  const expiresAt = Number.parseInt(time, 36) + FORM_TTL_MS;
  const genuine = hashes.some((hash) => secretsEqual(hash, signature.join('.')));
  if (token === undefined || !genuine || platform.clock.now() >= expiresAt) throw ClientErrors.CONSENT_TOKEN_INVALID();
  return { tokenHash: secretHash(token), expiresAt };
}

/** An answer to a consent form: where the browser is sent, and the hash of the code in that address if there is one. */
export interface ConsentAnswer {
  readonly location: string;
  readonly codeHash: string | null;
  readonly goodUntil: number;
}

/**
 * Takes the form for this answer by one atomic statement. Returns undefined when this is the first answer. Otherwise returns the
 * address that the first one led to, as long as its code can still be exchanged; throws 409 CONSENT_ALREADY_GIVEN after that.
 */
export async function takeForm(
  platform: Platform,
  { db, now }: Change,
  form: ConsentForm,
  { location, codeHash, goodUntil }: ConsentAnswer,
): Promise<string | undefined> {
  const keys = platform.secrets().cookie;
  const taken = await db
    .insertInto('oauth_consent_answers')
    .values({
      token_hash: form.tokenHash,
      answer: seal(keys, ANSWER_PURPOSE, form.tokenHash, location),
      code_hash: codeHash,
      answer_expires_at: goodUntil,
      expires_at: form.expiresAt,
    })
    .onConflict((oc) => oc.column('token_hash').doNothing())
    .returning('token_hash')
    .executeTakeFirst();
  if (taken) return undefined;
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

/** Erases answers whose code has expired, and forms that can no longer be answered. */
export async function forgetConsentForms(db: Db, now: number): Promise<void> {
  await db.deleteFrom('oauth_consent_answers').where('expires_at', '<', now).execute();
  await db
    .updateTable('oauth_consent_answers')
    .set({ answer: null })
    .where('answer_expires_at', '<', now)
    .where('answer', 'is not', null)
    .execute();
}
