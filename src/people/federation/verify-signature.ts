import { KeyObject, constants as rsa, type VerifyKeyObjectInput, verify } from 'node:crypto';
import type { CryptoKey } from 'jose';
import type { RefusalReason } from '../../kernel/refusals.ts';
import { type FindKey, KeysUnavailable } from './issuer-keys.ts';
import type { Unverified } from './unverified.ts';

interface Scheme {
  readonly hash: string | null;
  readonly options: Partial<VerifyKeyObjectInput>;
}

const pkcs1 = (hash: string): Scheme => ({ hash, options: { padding: rsa.RSA_PKCS1_PADDING } });
const pss = (hash: string): Scheme => ({
  hash,
  options: { padding: rsa.RSA_PKCS1_PSS_PADDING, saltLength: rsa.RSA_PSS_SALTLEN_DIGEST },
});
const ecdsa = (hash: string): Scheme => ({ hash, options: { dsaEncoding: 'ieee-p1363' } });
const eddsa: Scheme = { hash: null, options: {} };

/** RFC 7518, section 3.1; RFC 8037, section 3.1; RFC 9864, section 2.2, whose Ed25519 is EdDSA with that curve. */
const SCHEMES: ReadonlyMap<string, Scheme> = new Map([
  ['RS256', pkcs1('sha256')],
  ['RS384', pkcs1('sha384')],
  ['RS512', pkcs1('sha512')],
  ['PS256', pss('sha256')],
  ['PS384', pss('sha384')],
  ['PS512', pss('sha512')],
  ['ES256', ecdsa('sha256')],
  ['ES384', ecdsa('sha384')],
  ['ES512', ecdsa('sha512')],
  ['EdDSA', eddsa],
  ['Ed25519', eddsa],
]);

const MIN_RSA_BITS = 2048;
/** The limits of OpenSSL for long keys. */
const MAX_RSA_BITS = 16_384;
const MAX_EXPONENT_BYTES = 8;

/**
 * Returns whether an RSA key has an accepted length, and true for every other key. `asymmetricKeyDetails` would give
 * the length too, but first converts the exponent to a BigInt, which takes seconds for one of 90,000 bytes.
 */
function hasAcceptedLength({ algorithm }: CryptoKey): boolean {
  const { modulusLength, publicExponent } = algorithm as Partial<RsaKeyAlgorithm>;
  if (modulusLength === undefined || publicExponent === undefined) return true;
  return (
    modulusLength >= MIN_RSA_BITS && modulusLength <= MAX_RSA_BITS && publicExponent.byteLength <= MAX_EXPONENT_BYTES
  );
}

/** The keys of an issuer stay the same for many assertions. */
const imported = new WeakMap<CryptoKey, KeyObject>();

function keyObject(key: CryptoKey): KeyObject {
  let object = imported.get(key);
  if (!object) {
    object = KeyObject.from(key as Parameters<typeof KeyObject.from>[0]);
    imported.set(key, object);
  }
  return object;
}

/**
 * Verifies the signature of a JWT (RFC 7515, section 5.2) with the key for its header, whose algorithm has to be one of
 * `algorithms`. Returns the reason if it is refused.
 *
 * `jwtVerify` of jose verifies each signature in a thread pool. Requests that arrive together return from it one by
 * one, and each would need its own commit. This function waits for nothing but the key, so they share a commit.
 */
export async function verifySignature(
  { header, signed, payload, signature }: Unverified,
  algorithms: readonly string[],
  keys: FindKey,
): Promise<RefusalReason | undefined> {
  const { alg, crit, ...others } = header;
  // No extension is supported, so every critical one is refused (RFC 7515, section 4.1.11).
  if (crit !== undefined || typeof alg !== 'string' || !algorithms.includes(alg)) return 'assertion-signature';
  const scheme = SCHEMES.get(alg);
  if (!scheme) return 'assertion-signature';
  try {
    const found = keys({ ...others, alg }, { payload, signature });
    const cryptoKey = (found instanceof Promise ? await found : found) as CryptoKey;
    if (!hasAcceptedLength(cryptoKey)) return 'assertion-signature';
    const isValid = verify(
      scheme.hash,
      Buffer.from(signed),
      { ...scheme.options, key: keyObject(cryptoKey) },
      Buffer.from(signature, 'base64url'),
    );
    return isValid ? undefined : 'assertion-signature';
  } catch (error) {
    return error instanceof KeysUnavailable ? 'assertion-keys-unavailable' : 'assertion-signature';
  }
}
