import { describe, expect, it } from 'vitest';
import { protectMcp, type RemoteOptions } from '../../src/mcp/guard/protect.ts';
import { form } from '../support/oauth.ts';
import { createTestService, type TestOptions } from '../support/service.ts';

const ISSUER = 'http://localhost:3000';
const ENDPOINT = 'https://notes.example.com/mcp';

/** A remote guard that reaches the service only over HTTP, and an agent with a token for the guarded server. */
async function scene(config: NonNullable<TestOptions['config']>, options: (admin: string) => Partial<RemoteOptions>) {
  const t = await createTestService({ config });
  // The verifier of the keys uses the clock of the system.
  t.clock.set(new Date().toISOString());
  const admin = await t.admin();
  await t.call('POST', '/mcp/servers', { as: admin, body: { name: 'notes', endpoint: ENDPOINT } });
  const owner = await t.user();
  const agent = await t.agent(owner, {
    type: 'service',
    permissions: [{ resource: 'mcp:notes:search', actions: ['execute'] }],
  });
  const guarded = protectMcp((_request, { authInfo }) => Response.json({ result: authInfo?.agentId }), {
    issuer: ISSUER,
    server: { name: 'notes', endpoint: ENDPOINT },
    fetch: async (input, init) => t.legate.fetch(new Request(input as string, init), { remoteAddress: '192.0.2.9' }),
    ...options(admin.token),
  });
  const token = async (resource = ENDPOINT): Promise<string> => {
    const r = await form(t, '/oauth/token', {
      grant_type: 'client_credentials',
      client_id: agent.id,
      client_secret: agent.token,
      resource,
    });
    expect(r.status, r.text).toBe(200);
    return r.body.access_token;
  };
  const call = (bearer: string, tool = 'search'): Promise<Response> =>
    guarded(
      new Request(ENDPOINT, {
        method: 'POST',
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: {} } }),
      }),
    );
  return { t, admin, owner, agent, token, call };
}

describe('a remote guard with the published keys', () => {
  it.each(['EdDSA', 'ES256'] as const)('%s: accepts tokens for its resource, and no others', async (signing) => {
    const { token, call, agent } = await scene({ mcp: { signing } }, () => ({}));
    const good = await token();
    const passed = await call(good);
    expect([passed.status, await passed.json()]).toEqual([200, { result: agent.id }]);
    expect((await call(await token(ISSUER))).status).toBe(401);
    expect((await call(`${good.slice(0, -4)}AAAA`)).status).toBe(401);
  });

  it('HS256: only this service can verify the tokens, and the error says so', async () => {
    const { token, call } = await scene({}, () => ({}));
    expect((await call(await token())).status).toBe(503);
  });
});

describe('a remote guard with introspection', () => {
  const options = (admin: string): Partial<RemoteOptions> => ({
    introspection: { token: admin },
    decisions: { url: ISSUER, token: admin },
  });

  it('accepts tokens for its resource, requests decisions there, and applies a revocation immediately', async () => {
    const { t, owner, agent, token, call } = await scene({}, options);
    const good = await token();
    expect((await call(good)).status).toBe(200);
    expect(await (await call(good, 'delete')).json()).toMatchObject({
      result: { isError: true, _meta: { reason: 'NO_PERMISSION' } },
    });
    const entries = (await t.call('GET', `/audit?agentId=${agent.id}`, { as: owner })).body;
    expect(entries.map((e: { resource: string; result: string }) => [e.resource, e.result])).toEqual([
      ['mcp:notes:delete', 'denied'],
      ['mcp:notes:search', 'allowed'],
    ]);
    expect((await call(await token(ISSUER))).status).toBe(401);
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    expect((await call(good)).status).toBe(401);
  });

  it('responds 503, not 401, while it may not introspect', async () => {
    const { t, owner, token, call } = await scene({}, () => ({ introspection: { token: 'lgk_x' } }));
    expect((await call(await token())).status).toBe(503);
    expect((await t.call('GET', '/agents', { as: owner })).status).toBe(200);
  });
});
