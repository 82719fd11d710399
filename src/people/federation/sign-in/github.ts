import { authorizationCodeGrant, type ServerMetadata } from 'openid-client';
import { z } from 'zod';
import type { GuardedFetch } from '../../../operations/outbound/index.ts';
import type { Identity, Provider } from './identity.ts';

/**
 * The fields of a user's profile that are read: <https://docs.github.com/rest/users/users>. A login may pass to another
 * person.
 */
const Profile = z.object({ id: z.int().positive(), name: z.string().nullish() });
/** The addresses of a user: <https://docs.github.com/rest/users/emails>. */
const Emails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }));

const MAX_BYTES = 256 * 1024;
/** Status codes for a token without the scope `user:email`. */
const NOT_GRANTED: readonly number[] = [403, 404];

/** Scope that allows reading all addresses of a user, also private ones. */
export const GITHUB_SCOPE = 'user:email';

/** The endpoints of GitHub or a GitHub Enterprise Server, which has no discovery document for signing in. */
export const githubMetadata = (issuer: string): ServerMetadata => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/access_token`,
  token_endpoint_auth_methods_supported: ['client_secret_post'],
  code_challenge_methods_supported: ['S256'],
});

/** Returns the address of the REST API of github.com, of a company at ghe.com, or of an Enterprise Server. */
export function githubApi(issuer: string): string {
  const { origin, host, protocol } = new URL(issuer);
  return host === 'github.com' || host.endsWith('.ghe.com') ? `${protocol}//api.${host}` : `${origin}/api/v3`;
}

/**
 * Exchanges the code of a callback for an access token and reads its user from the API. The subject is the numeric id;
 * the address is the primary one if it is verified. `checks` are the checks of the callback.
 */
export async function confirmWithGitHub(
  fetch: GuardedFetch,
  { client, metadata }: Provider,
  callback: URL,
  checks: { readonly pkceCodeVerifier: string; readonly expectedState: string },
): Promise<Identity> {
  const { access_token: token } = await authorizationCodeGrant(client, callback, checks);
  const read = async (path: string): Promise<{ readonly status: number; readonly body: unknown }> => {
    const response = await fetch(`${githubApi(metadata.issuer)}${path}`, {
      headers: {
        accept: 'application/vnd.github+json',
        authorization: `Bearer ${token}`,
        'user-agent': 'legate',
        'x-github-api-version': '2022-11-28',
      },
      maxBytes: MAX_BYTES,
    });
    if (response.status !== 200 && !NOT_GRANTED.includes(response.status))
      throw new Error(`${path} answered ${response.status}`);
    return { status: response.status, body: JSON.parse(new TextDecoder().decode(response.body)) };
  };
  const profile = Profile.parse((await read('/user')).body);
  const emails = await read('/user/emails?per_page=100');
  const primary = emails.status === 200 ? Emails.parse(emails.body).find(({ primary }) => primary) : undefined;
  return {
    subject: String(profile.id),
    claims: {
      sub: String(profile.id),
      ...(profile.name ? { name: profile.name } : {}),
      ...(primary ? { email: primary.email, email_verified: primary.verified } : {}),
    },
  };
}
