import { beforeEach, describe, expect, it } from 'vitest';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';

const ENDPOINT = 'http://localhost:3000/notes';

/** Two instances on one database. Both have verified, and so cached, the token. */
let one: TestService;
let two: TestService;
let owner: TestUser;
let agent: TestAgent;
let token: string;
let serverId: string;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
async function isValid(): Promise<[boolean, boolean]> {
  const validity = async (t: TestService): Promise<boolean> =>
    (await t.legate.mcp.validateToken(token, { audience: ENDPOINT })).valid;
  // In production, each instance has its own event loop.
  await turn();
  return [await validity(one), await validity(two)];
}

beforeEach(async () => {
  one = await createTestService();
  two = await createTestService({ sameDatabaseAs: one });
  ({ id: serverId } = await one.legate.mcp.registerServer({ name: 'notes', endpoint: ENDPOINT }));
  owner = await one.user();
  agent = await one.agent(owner, { type: 'service' });
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: agent.id,
    client_secret: agent.token,
    resource: ENDPOINT,
  });
  const r = await one.call('POST', '/oauth/token', {
    raw: form.toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  expect(r.status, r.text).toBe(200);
  token = r.body.access_token;
  for (let i = 0; i < 3; i++) expect(await isValid()).toEqual([true, true]);
});

describe('a cached token ends on every instance with', () => {
  const ends: Record<string, () => Promise<unknown> | unknown> = {
    'its agent': () => one.call('DELETE', `/agents/${agent.id}`, { as: owner }),
    'a new token of its agent': () => one.call('POST', `/agents/${agent.id}/rotate`, { as: owner }),
    'the account of its owner': async () => one.call('DELETE', `/users/${owner.id}`, { as: await one.admin() }),
    'its own revocation': async () => {
      const form = new URLSearchParams({ token, client_id: agent.id, client_secret: agent.token });
      expect(
        (
          await one.call('POST', '/oauth/revoke', {
            raw: form.toString(),
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
          })
        ).status,
      ).toBe(200);
    },
    'the registration of its server': () => one.legate.mcp.removeServer(serverId),
    'another endpoint of its server': () => one.legate.mcp.updateServer(serverId, { endpoint: `${ENDPOINT}/2` }),
    'the expiry of its agent': async () => {
      await one.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { expiresAt: '2030-01-15T10:20:00.000Z' } });
      expect(await isValid()).toEqual([true, true]);
      one.clock.set('2030-01-15T10:20:00.000Z');
    },
    'its own expiry': () => one.clock.advance(3600_000),
  };

  it.each(Object.entries(ends))('%s', async (_what, end) => {
    await end();
    expect(await isValid()).toEqual([false, false]);
  });
});

describe('a cached token', () => {
  it('stays valid through unrelated changes', async () => {
    await one.agent(owner);
    await one.call('PATCH', `/agents/${agent.id}`, {
      as: owner,
      body: { name: 'renamed', permissions: [{ resource: 'x', actions: ['y'] }] },
    });
    expect(await isValid()).toEqual([true, true]);
  });

  it('does not validate another signature or other claims', async () => {
    const [header, payload, signature] = token.split('.') as [string, string, string];
    const other = Buffer.from(
      JSON.stringify({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), scope: 'agents:write' }),
    ).toString('base64url');
    for (const bad of [
      `${header}.${payload}.${signature.slice(0, -4)}AAAA`,
      `${header}.${other}.${signature}`,
      `${header}.${payload}.`,
    ]) {
      expect(await one.legate.mcp.validateToken(bad, { audience: ENDPOINT })).toEqual({ valid: false });
    }
  });
});
