import {
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import { defineState, type Platform } from '../../platform.ts';

export type Algorithm = 'HS256' | 'EdDSA' | 'ES256';

/** A key for exactly one algorithm (RFC 8725, section 3.1). */
export interface SigningKey {
  readonly kid: string;
  readonly alg: Algorithm;
  /** Header of access tokens that are signed with this key, encoded. */
  readonly header: string;
  sign(input: string): string;
  verify(input: string, signature: Buffer): boolean;
  /** Public key as a JWK (RFC 7517); undefined for HS256. */
  readonly jwk: Record<string, string> | undefined;
}

/** PKCS #8 around a 32-byte Ed25519 seed (RFC 8410). */
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

const derive = (secret: Buffer, use: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `legate ${use}`, 32));

const headerOf = (kid: string, alg: Algorithm): string =>
  Buffer.from(JSON.stringify({ alg, typ: 'at+jwt', kid })).toString('base64url');

function hs256(kid: string, key: Buffer): SigningKey {
  const mac = (input: string): Buffer => createHmac('sha256', key).update(input).digest();
  return {
    kid,
    alg: 'HS256',
    header: headerOf(kid, 'HS256'),
    sign: (input) => mac(input).toString('base64url'),
    verify: (input, signature) => signature.length === 32 && timingSafeEqual(mac(input), signature),
    jwk: undefined,
  };
}

function asymmetric(kid: string, alg: 'EdDSA' | 'ES256', privateKey: KeyObject): SigningKey {
  const publicKey = createPublicKey(privateKey);
  const hash = alg === 'EdDSA' ? null : 'sha256';
  const options = <K extends KeyObject>(key: K) => ({ key, dsaEncoding: 'ieee-p1363' as const });
  return {
    kid,
    alg,
    header: headerOf(kid, alg),
    sign: (input) => sign(hash, Buffer.from(input), options(privateKey)).toString('base64url'),
    verify: (input, signature) =>
      signature.length === 64 && verify(hash, Buffer.from(input), options(publicKey), signature),
    jwk: { ...(publicKey.export({ format: 'jwk' }) as Record<string, string>), kid, alg, use: 'sig' },
  };
}

const eddsa = (kid: string, secret: Buffer): SigningKey =>
  asymmetric(
    kid,
    'EdDSA',
    createPrivateKey({
      key: Buffer.concat([ED25519_PKCS8, derive(secret, 'access-token EdDSA')]),
      format: 'der',
      type: 'pkcs8',
    }),
  );

function es256(kid: string, secret: Buffer): SigningKey {
  const pair = createECDH('prime256v1');
  // A derived value that exceeds the order of the curve (probability 2^-32) is skipped.
  for (let i = 0; ; i++) {
    try {
      pair.setPrivateKey(derive(secret, `access-token ES256 ${i}`));
      break;
    } catch (error) {
      if (i > 8) throw error;
    }
  }
  const point = pair.getPublicKey();
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    d: pair.getPrivateKey().toString('base64url'),
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  };
  return asymmetric(kid, 'ES256', createPrivateKey({ key: jwk, format: 'jwk' }));
}

const FACTORIES = { HS256: hs256, EdDSA: eddsa, ES256: es256 } as const;

export interface KeyRing {
  readonly current: SigningKey;
  readonly byId: ReadonlyMap<string, SigningKey>;
}

/** The key ring of a service and the secrets from which it was derived. */
interface DerivedRing {
  source?: object;
  ring?: KeyRing;
}

export const derivedRing = defineState((): DerivedRing => ({}));

/**
 * Returns the signing keys of access tokens, all of the configured algorithm. The newest one signs; all verify. They
 * are derived from `mcp.signingSecret` or from the signing keys of the data folder. With HS256, a configured secret is
 * itself the key, so that other services with the secret can verify tokens.
 */
export function keyRing({ config, secrets, stateOf }: Pick<Platform, 'config' | 'secrets' | 'stateOf'>): KeyRing {
  const { signing, signingSecret } = config.mcp;
  const derived = stateOf(derivedRing);
  const source = signingSecret === undefined ? secrets() : config.mcp;
  if (!derived.ring || derived.source !== source) {
    const sources =
      signingSecret === undefined
        ? secrets().signing.map(({ id, key }) => ({ id, secret: Buffer.from(key, 'base64url') }))
        : [
            {
              id: createHash('sha256').update(`kid ${signingSecret}`).digest('base64url').slice(0, 8),
              secret: Buffer.from(signingSecret),
            },
          ];
    const raw = signing === 'HS256' && signingSecret !== undefined;
    const keys = sources.map(({ id, secret }) =>
      signing === 'HS256' && !raw ? hs256(id, derive(secret, 'access-token HS256')) : FACTORIES[signing](id, secret),
    );
    derived.source = source;
    derived.ring = { current: keys[0] as SigningKey, byId: new Map(keys.map((key) => [key.kid, key])) };
  }
  return derived.ring;
}
