import { auth, ClientCredentialsProvider, PrivateKeyJwtProvider } from '@modelcontextprotocol/client';
import { exportJWK, generateKeyPair } from 'jose';
import { expect, it } from 'vitest';
import { claimsOf } from '../../../test/support/oauth.ts';
import { createTestService } from '../../../test/support/service.ts';

it('[RFC 6749 4.4; RFC 7523 2.2] the MCP SDK gets a token of an agent by its key, and by its secret', async () => {
  const t = await createTestService();
  // The SDK uses the clock of the system.
  t.clock.set(new Date().toISOString());
  const owner = await t.user();
  const agent = await t.agent(owner, { type: 'service' });
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const body = { jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] } };
  expect((await t.call('PUT', `/agents/${agent.id}/keys`, { as: owner, body })).status).toBe(200);
  const toUs = (url: string | URL, init?: RequestInit): Promise<Response> =>
    t.legate.fetch(new Request(url, init)) as Promise<Response>;
  const asked = { serverUrl: t.legate.platform.audience, scope: 'mcp:read', fetchFn: toUs };
  const common = { clientId: agent.id, expectedIssuer: t.legate.platform.issuer };
  const byKey = new PrivateKeyJwtProvider({
    ...common,
    privateKey: { ...(await exportJWK(privateKey)) },
    algorithm: 'ES256',
  });
  const byToken = new ClientCredentialsProvider({ ...common, clientSecret: agent.token });
  for (const provider of [byKey, byToken]) {
    expect(await auth(provider, asked)).toBe('AUTHORIZED');
    const { access_token } = provider.tokens() as { access_token: string };
    expect(claimsOf(access_token)).toMatchObject({ sub: agent.id, client_id: agent.id, scope: 'mcp:read' });
    expect((await t.legate.mcp.validateToken(access_token)).valid).toBe(true);
  }
});
