import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import { claimsOf, form, refreshWith, register, signUp, tokens } from '../../../test/support/oauth.ts';
import { createTestService, type TestService } from '../../../test/support/service.ts';
import { asId, newId } from '../../kernel/ids.ts';
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../token/token-request.ts';

let t: TestService;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
});
const isValid = async (token: string): Promise<boolean> => (await t.legate.mcp.validateToken(token)).valid;

describe('the page of connected applications', () => {
  it('lists and ends only the applications of this person', async () => {
    const someone = await signUp(t);
    const app = await register(t, { client_name: '<b>App</b>' });
    const got = await tokens(t, someone, app, { scope: 'agents:read' });
    const browser = new FormClient(t);
    browser.cookies.set(`${t.database.name}_session`, someone.token);
    const page = await browser.get('/account/apps');
    expect(page.status).toBe(200);
    expect(page.text).toContain('&lt;b&gt;App&lt;/b&gt;');
    const id = /name="grant" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const other = new FormClient(t);
    other.cookies.set(`${t.database.name}_session`, (await signUp(t)).token);
    expect((await other.get('/account/apps')).text).not.toContain(id);
    expect((await other.post('/account/apps', { grant: id })).status).toBe(404);
    expect(
      (
        await browser.post(
          '/account/apps',
          { grant: id },
          { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
        )
      ).status,
    ).toBe(403);
    expect(await isValid(got.access_token)).toBe(true);
    const ended = await browser.post('/account/apps', { grant: id });
    expect([ended.status, ended.headers.get('location')]).toEqual([
      303,
      expect.stringContaining('/account/apps?ended=1'),
    ]);
    expect(await isValid(got.access_token)).toBe(false);
    expect((await t.call('GET', '/agents', { as: got.access_token })).status).toBe(401);
    expect((await refreshWith(t, app, got.refresh_token)).body.error).toBe('invalid_grant');
    expect((await new FormClient(t).get('/account/apps')).headers.get('location')).toContain('sign-in');
  });

  it('lists applications however many tokens agents have got for themselves', async () => {
    const someone = await signUp(t);
    const source = await tokens(t, someone, await register(t, { client_name: 'The app' }));
    const body = { ownerId: someone.id, name: 'service', type: 'service' };
    const agent = (await t.call('POST', '/agents', { as: someone, body })).body;
    const own = { grant_type: 'client_credentials', client_id: agent.id, client_secret: agent.token };
    await Promise.all(Array.from({ length: 200 }, () => form(t, '/oauth/token', own)));
    const exchanged = await form(t, '/oauth/token', {
      grant_type: TOKEN_EXCHANGE,
      subject_token: source['access_token'],
      subject_token_type: ACCESS_TOKEN_TYPE,
      actor_token: agent.token,
    });
    expect(exchanged.status, exchanged.text).toBe(200);
    const page = await t.call('GET', '/account/apps', { as: someone });
    const shown = [...page.text.matchAll(/name="grant" value="([^"]+)"/g)].map((match) => match[1]);
    expect(shown).toEqual([String(claimsOf(source['access_token']).jti).split('.')[0]]);
  });

  it('shows the 200 newest of more, and says so', async () => {
    const someone = await signUp(t);
    const text = 'Only the 200 newest are shown.';
    const { jti } = claimsOf((await tokens(t, someone, await register(t)))['access_token']);
    const db = t.legate.platform.database.write;
    const id = asId('grant', String(jti).split('.')[0] as string);
    const grant = await db.selectFrom('oauth_grants').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const add = (count: number) => {
      const rows = Array.from({ length: count }, () => ({ ...grant, id: newId('grant', t.clock.now()) }));
      return db.insertInto('oauth_grants').values(rows).execute();
    };
    const shown = async () => {
      const page = await t.call('GET', '/account/apps', { as: someone });
      return [[...page.text.matchAll(/name="grant"/g)].length, page.text.includes(text)];
    };
    await add(199);
    expect(await shown()).toEqual([200, false]);
    await add(1);
    expect(await shown()).toEqual([200, true]);
  });
});
