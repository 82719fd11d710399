import { KeyObject, constants as rsa, type VerifyKeyObjectInput, verify } from 'node:crypto';
import { type CryptoKey, decodeProtectedHeader, errors, type JWTVerifyGetKey } from 'jose';

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

/** RFC 7518, section 3.1; RFC 8037, section 3.1. */
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
  ['EdDSA', { hash: null, options: {} }],
]);

const MIN_RSA_BITS = 2048;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

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
 * Verifies the signature of a compact JWS (RFC 7515, section 5.2), and returns its payload. `keys` finds the key for
 * the algorithm of the header, which has to be one of `algorithms`.
 *
 * `jwtVerify` of jose verifies each signature in a thread pool. Requests that arrive together return from it one by
 * one, and each would need its own commit. This function is synchronous, so they share a commit. Throws the errors of
 * jose, and those of `keys`.
 */
export async function verifySignature(
  token: string,
  algorithms: readonly string[],
  keys: JWTVerifyGetKey,
): Promise<string> {
  const parts = token.split('.');
  const [header, payload, signature] = parts as [string, string, string];
  if (parts.length !== 3 || !parts.every((part) => BASE64URL.test(part))) throw new errors.JWSInvalid();
  const { alg, crit, ...others } = decodeProtectedHeader(token);
  // No extension is supported, so every critical one is refused (RFC 7515, section 4.1.11).
  if (crit !== undefined) throw new errors.JOSENotSupported('an extension of the header is critical');
  const scheme = alg === undefined || !algorithms.includes(alg) ? undefined : SCHEMES.get(alg);
  if (!scheme || alg === undefined) throw new errors.JOSEAlgNotAllowed();
  const key = keyObject((await keys({ ...others, alg }, { payload, signature })) as CryptoKey);
  const bits = key.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && bits < MIN_RSA_BITS) throw new errors.JOSENotSupported('the key is too short');
  const input = Buffer.from(`${header}.${payload}`);
  const options = { ...scheme.options, key };
  if (!verify(scheme.hash, input, options, Buffer.from(signature, 'base64url')))
    throw new errors.JWSSignatureVerificationFailed();
  return payload;
}
