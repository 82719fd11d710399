import { beforeAll, describe, expect, it } from 'vitest';
import { ask, type Person, register, signUp, tokens } from '../../test/support/oauth.ts';
import { createTestService, type TestService, type TestUser } from '../../test/support/service.ts';

const PREFIXES = ['/api/legate/oauth', '/api/legate/mcp', '/oauth', '/mcp'];

let t: TestService;
let admin: TestUser;
let stranger: Person;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  [admin, stranger] = [await t.admin(), await signUp(t)];
});

describe.each(PREFIXES)('%s', (prefix) => {
  it('lists, shows and ends the grants of the person', async () => {
    const person = await signUp(t);
    await tokens(t, person, await register(t));
    await tokens(t, person, await register(t));
    const page = await t.call('GET', `${prefix}/grants?limit=1`, { as: person });
    expect([page.status, page.body.length]).toEqual([200, 1]);
    expect(page.headers.get('link')).toContain(`${prefix}/grants?`);
    const [{ id }] = page.body;
    expect((await t.call('GET', `${prefix}/grants/${id}`, { as: person })).body).toEqual(page.body[0]);
    for (const method of ['GET', 'DELETE'])
      expect((await t.call(method, `${prefix}/grants/${id}`, { as: stranger })).status).toBe(404);
    expect((await t.call('GET', `${prefix}/grants`)).status).toBe(401);
    const wrong = await t.call('POST', `${prefix}/grants`, { as: person, body: {} });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, expect.stringContaining('GET')]);
    const shown = await t.call('DELETE', `${prefix}/grants/${id}?preview=true`, { as: person });
    expect([shown.status, shown.body.grants]).toEqual([200, 1]);
    expect((await t.call('DELETE', `${prefix}/grants/${id}`, { as: person })).status).toBe(204);
    expect((await t.call('GET', `${prefix}/grants/${id}`, { as: person })).status).toBe(404);
  });

  it('creates, lists, shows and deletes clients for administrators', async () => {
    const body = { redirect_uris: ['https://app.example/callback'], client_name: 'At every path' };
    const { client_id, status } = await t
      .call('POST', `${prefix}/clients`, { as: admin, body })
      .then((r) => ({ ...r.body, status: r.status }));
    expect(status).toBe(201);
    const listed = (await t.call('GET', `${prefix}/clients`, { as: admin })).body;
    expect(listed[0].client_id).toBe(client_id);
    expect((await t.call('GET', `${prefix}/clients/${client_id}`, { as: admin })).body).toEqual(listed[0]);
    expect((await t.call('POST', `${prefix}/clients`, { as: admin, body: { redirect_uris: 7 } })).status).toBe(400);
    for (const [method, path] of [
      ['POST', '/clients'],
      ['GET', '/clients'],
      ['GET', `/clients/${client_id}`],
      ['DELETE', `/clients/${client_id}`],
    ] as const)
      expect(
        (await t.call(method, `${prefix}${path}`, { as: stranger, ...(method === 'POST' ? { body } : {}) })).status,
      ).toBe(403);
    expect((await t.call('DELETE', `${prefix}/clients/${client_id}`, { as: admin })).status).toBe(204);
    expect((await t.call('GET', `${prefix}/clients/${client_id}`, { as: admin })).status).toBe(404);
  });

  it('has the content of a consent page, and takes its answer', async () => {
    const person = await signUp(t);
    const path = `${prefix}/consent?${new URLSearchParams(ask(await register(t)).query)}`;
    const { consentToken } = (await t.call('GET', path, { as: person })).body;
    const body = { decision: 'allow', consentToken };
    expect((await t.call('POST', path, { as: stranger, body })).status).toBe(403);
    const r = await t.call('POST', path, { as: person, body });
    expect([r.status, new URL(r.body.redirectTo).searchParams.has('code')]).toEqual([200, true]);
  });
});

it('the servers and the page of connected applications have one path', async () => {
  for (const path of ['/api/legate/mcp/servers', '/oauth/servers', '/api/legate/account/apps'])
    expect((await t.call('GET', path, { as: admin })).status, path).toBe(404);
});
