import { z } from 'zod';
import { text } from '../../kernel/json.ts';
import { ISSUER_ALGORITHMS } from '../../people/federation/index.ts';
import type { OAuthClientRow } from '../../storage/index.ts';

/** Asymmetric algorithms only: an assertion signed with the client secret would prove no more than the secret. */
export const CLIENT_ALGORITHMS = ISSUER_ALGORITHMS;

const MAX_KEYS = 10;
/** Members of RFC 7518, sections 6.2.2, 6.3.2 and 6.4.1, that are private. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'] as const;

const PublicKey = z
  .looseObject({ kty: z.enum(['RSA', 'EC', 'OKP']), kid: text(200).optional() })
  .refine((key) => PRIVATE_MEMBERS.every((member) => !(member in key)), 'must be a public key without private members');

/** A JWK set (RFC 7517, section 5) of public keys. */
export const PublicKeys = z
  .object({ keys: z.array(PublicKey).min(1).max(MAX_KEYS) })
  .meta({ description: `A JWK set of at most ${MAX_KEYS} public keys. With several, each needs a \`kid\`.` });

export const KeysAddress = z
  .string()
  .max(2048)
  .refine((value) => {
    if (!/^https?:\/\/[\x21-\x7e]+$/.test(value) || !URL.canParse(value)) return false;
    const { username, password, hash } = new URL(value);
    return username === '' && password === '' && hash === '';
  }, 'must be an https URL without user name and fragment');

/** The public keys of a client or agent: stored here, or fetched from an address. */
export interface ClientKeys {
  readonly jwks?: z.output<typeof PublicKeys> | undefined;
  readonly jwksUri?: string | undefined;
  /** The only algorithm that is accepted; undefined: any of CLIENT_ALGORITHMS. */
  readonly algorithm?: string | undefined;
  /** Whether anybody, without an account here, could have chosen the address. */
  readonly byStranger?: boolean | undefined;
}

/** Members of RFC 7591, section 2, and OpenID Connect Dynamic Client Registration 1.0, section 2. */
export interface KeyMembers {
  readonly token_endpoint_auth_method?: string | undefined;
  readonly jwks?: z.output<typeof PublicKeys> | undefined;
  readonly jwks_uri?: string | undefined;
  readonly token_endpoint_auth_signing_alg?: string | undefined;
}

/** Returns the keys in client metadata, or null if the client does not authenticate with a key. */
export const clientKeysOf = (metadata: KeyMembers, origin: OAuthClientRow['origin']): ClientKeys | null =>
  metadata.token_endpoint_auth_method === 'private_key_jwt'
    ? {
        jwks: metadata.jwks,
        jwksUri: metadata.jwks_uri,
        algorithm: metadata.token_endpoint_auth_signing_alg,
        byStranger: origin !== 'admin',
      }
    : null;
