import * as oauth from 'oauth4webapi';
import { beforeAll, expect, it } from 'vitest';
import { consent, locationOf, type Person, signUp } from '../../test/support/oauth.ts';
import { createTestService, type TestService } from '../../test/support/service.ts';

const ISSUER = new URL('http://localhost:3000');
const CALLBACK = 'https://app.example/callback';

/** An independent client library performs every step and validates every response. */
let t: TestService;
let person: Person;
let as: oauth.AuthorizationServer;
const toUs = {
  [oauth.allowInsecureRequests]: true,
  [oauth.customFetch]: (url: string, init: object) => t.legate.fetch(new Request(url, init as RequestInit)),
} as const;

beforeAll(async () => {
  // The library compares token times with the clock of the system.
  t = await createTestService({ lasting: true, config: { mcp: { signing: 'EdDSA' } } });
  t.clock.set(new Date().toISOString());
  person = await signUp(t);
  as = await oauth.processDiscoveryResponse(
    ISSUER,
    await oauth.discoveryRequest(ISSUER, { ...toUs, algorithm: 'oauth2' }),
  );
});

async function registered(metadata: Record<string, oauth.JsonValue> = {}): Promise<oauth.Client> {
  const response = await oauth.dynamicClientRegistrationRequest(
    as,
    { redirect_uris: [CALLBACK], client_name: 'oauth4webapi', ...metadata },
    toUs,
  );
  return (await oauth.processDynamicClientRegistrationResponse(response)) as oauth.Client;
}

/** Gives the consent of the person, and returns the validated authorization response. */
async function authorized(
  client: oauth.Client,
  verifier: string,
  more: Record<string, string> = {},
): Promise<URLSearchParams> {
  const state = oauth.generateRandomState();
  const query = {
    client_id: client.client_id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: 'mcp:read agents:read',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    ...more,
  };
  const answer = locationOf(await consent(t, person, { client, query, verifier }));
  return oauth.validateAuthResponse(as, client, answer, state);
}

const METHODS: Record<string, (client: oauth.Client) => oauth.ClientAuth> = {
  none: () => oauth.None(),
  client_secret_basic: (client) => oauth.ClientSecretBasic(client['client_secret'] as string),
  client_secret_post: (client) => oauth.ClientSecretPost(client['client_secret'] as string),
};

it.each(Object.keys(METHODS))(
  '[RFC 6749 4.1; RFC 7591 3.2; RFC 7636 4; RFC 9207 2.4; RFC 9068 4] an independent client works throughout, with %s',
  async (method) => {
    const client = await registered({ token_endpoint_auth_method: method });
    const proof = METHODS[method]?.(client) ?? oauth.None();
    const verifier = oauth.generateRandomCodeVerifier();
    const answer = await authorized(client, verifier);
    const tokens = await oauth.processAuthorizationCodeResponse(
      as,
      client,
      await oauth.authorizationCodeGrantRequest(as, client, proof, answer, CALLBACK, verifier, toUs),
    );
    expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'mcp:read agents:read', expires_in: 3600 });

    // Verifies the token with the published keys, as a resource server does.
    const claims = await oauth.validateJwtAccessToken(
      as,
      new Request('http://localhost:3000/agents', { headers: { authorization: `Bearer ${tokens.access_token}` } }),
      ISSUER.origin,
      toUs,
    );
    expect(claims.client_id).toBe(client.client_id);
    const agents = await oauth.protectedResourceRequest(
      tokens.access_token,
      'GET',
      new URL('http://localhost:3000/agents'),
      undefined,
      null,
      toUs,
    );
    expect(agents.status).toBe(200);

    const next = await oauth.processRefreshTokenResponse(
      as,
      client,
      await oauth.refreshTokenGrantRequest(as, client, proof, tokens.refresh_token as string, toUs),
    );
    if (method !== 'none') {
      const looked = await oauth.processIntrospectionResponse(
        as,
        client,
        await oauth.introspectionRequest(as, client, proof, next.access_token, toUs),
      );
      expect(looked).toMatchObject({ active: true, sub: claims.sub });
    }
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(as, client, proof, next.refresh_token as string, toUs),
    );
    await expect(
      oauth.protectedResourceRequest(
        next.access_token,
        'GET',
        new URL('http://localhost:3000/agents'),
        undefined,
        null,
        toUs,
      ),
    ).rejects.toMatchObject({
      code: oauth.WWW_AUTHENTICATE_CHALLENGE,
      cause: [{ scheme: 'bearer', parameters: expect.objectContaining({ error: 'invalid_token' }) }],
    });
  },
);

it('[RFC 6749 5.2] an independent client reads errors: bad verifier, used refresh token, denied consent', async () => {
  const client = await registered({ token_endpoint_auth_method: 'none' });
  const verifier = oauth.generateRandomCodeVerifier();
  const wrong = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    oauth.None(),
    await authorized(client, verifier),
    CALLBACK,
    oauth.generateRandomCodeVerifier(),
    toUs,
  );
  await expect(oauth.processAuthorizationCodeResponse(as, client, wrong)).rejects.toMatchObject({
    code: oauth.RESPONSE_BODY_ERROR,
    error: 'invalid_grant',
    status: 400,
  });
  const state = oauth.generateRandomState();
  const query = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    code_challenge_method: 'plain',
    code_challenge: 'x'.repeat(43),
    state,
  });
  const denied = await t.call('GET', `/oauth/authorize?${query}`, { as: person });
  expect(() => oauth.validateAuthResponse(as, client, locationOf(denied), state)).toThrow(
    expect.objectContaining({ code: oauth.AUTHORIZATION_RESPONSE_ERROR, error: 'invalid_request' }),
  );
});

it('[RFC 6749 4.4; RFC 8693 2] a service agent gets a token, and exchanges it for a narrower one', async () => {
  const alice = await t.user();
  const service = await t.agent(alice, {
    type: 'service',
    permissions: [{ resource: 'mcp:*', actions: ['read', 'execute'] }],
  });
  const actor = await t.agent(alice);
  const client: oauth.Client = { client_id: service.id };
  const proof = oauth.ClientSecretBasic(service.token);
  const own = await oauth.processClientCredentialsResponse(
    as,
    client,
    await oauth.clientCredentialsGrantRequest(
      as,
      client,
      proof,
      new URLSearchParams({ scope: 'mcp:read', resource: ISSUER.origin }),
      toUs,
    ),
  );
  expect(own.scope).toBe('mcp:read');
  const exchanged = await oauth.processGenericTokenEndpointResponse(
    as,
    client,
    await oauth.genericTokenEndpointRequest(
      as,
      client,
      proof,
      'urn:ietf:params:oauth:grant-type:token-exchange',
      {
        subject_token: own.access_token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        actor_token: actor.token,
        actor_token_type: 'urn:legate:token-type:agent_token',
      },
      toUs,
    ),
  );
  expect(exchanged).toMatchObject({
    scope: 'mcp:read',
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  });
});
