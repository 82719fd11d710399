import { createHash, randomBytes } from 'node:crypto';
import type { LegateClient } from '../../client/index.ts';

/** An application that a person has let in. */
export interface LetIn {
  readonly clientId: string;
  readonly accessToken: string;
}

interface Wish {
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly admin: LegateClient;
  /** API token of the person. */
  readonly person: string;
  readonly application: string;
  readonly resource: string;
  readonly scope: string;
}

const REDIRECT = 'http://127.0.0.1:8123/callback';

/** Goes the whole way of OAuth for a person: registration, consent, code, token. */
export async function letIn({ url, fetch: send, admin, person, application, resource, scope }: Wish): Promise<LetIn> {
  const { client_id: clientId } = await admin.oauth.clients.create({
    client_name: application,
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: 'none',
  });
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource,
    scope,
  });
  const headers = { authorization: `Bearer ${person}`, 'content-type': 'application/json' };
  const consent = `${url}/oauth/consent?${query}`;
  const { consentToken } = await json<{ consentToken: string }>(await send(consent, { headers }));
  const body = JSON.stringify({ decision: 'allow', consentToken });
  const { redirectTo } = await json<{ redirectTo: string }>(await send(consent, { method: 'POST', headers, body }));
  const { access_token: accessToken } = await json<{ access_token: string }>(
    await send(`${url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: new URL(redirectTo).searchParams.get('code') ?? '',
        redirect_uri: REDIRECT,
        client_id: clientId,
        code_verifier: verifier,
        resource,
      }),
    }),
  );
  return { clientId, accessToken };
}

async function json<T>(response: Response): Promise<T> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 300)}`);
  return JSON.parse(text) as T;
}
