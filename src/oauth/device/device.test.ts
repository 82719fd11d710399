import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import {
  answerDevice,
  DEVICE_CODE,
  deviceClient,
  pollDevice,
  showDevice,
  startDevice,
} from '../../../test/support/device.ts';
import { openIssuer } from '../../../test/support/issuer.ts';
import { form, type Person, refreshWith, register, signUp } from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { deleteStale } from '../clients/delete-client.ts';

let t: TestService;
let person: Person;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  person = await signUp(t);
});

const poll = async (client: Json, device: Json) => {
  const r = await pollDevice(t, client, device.device_code);
  return [r.status, r.body.error ?? 'tokens'];
};
const browserOf = (someone: Person): FormClient => {
  const browser = new FormClient(t);
  browser.cookies.set(`${t.database.name}_session`, someone.token);
  return browser;
};

describe('the device authorization endpoint', () => {
  it('[RFC 8628 3.2, 6.1] a device gets both codes, the addresses, the lifetime and the interval', async () => {
    const client = await deviceClient(t);
    const r = await form(t, '/oauth/device_authorization', { client_id: client.client_id, scope: 'mcp:read' });
    expect([r.status, r.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(r.body).toEqual({
      device_code: expect.stringMatching(/^lgv_/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${t.legate.baseUrl}/device`,
      verification_uri_complete: `${t.legate.baseUrl}/device?user_code=${r.body.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    const stored = await t.legate.platform.database.read.selectFrom('oauth_device_requests').selectAll().execute();
    expect(JSON.stringify(stored)).not.toContain(r.body.device_code);
    expect(JSON.stringify(stored)).not.toContain(r.body.user_code.replace('-', ''));
  });

  it('[RFC 8628 3.1] a device authorization request is refused in the same cases as a token request', async () => {
    const send = async (fields: Record<string, string>) => {
      const r = await form(t, '/oauth/device_authorization', fields);
      return [r.status, r.body.error];
    };
    const { client_id } = await deviceClient(t);
    const withSecret = await deviceClient(t, { token_endpoint_auth_method: 'client_secret_post' });
    expect(await send({})).toEqual([401, 'invalid_client']);
    expect(await send({ client_id: 'cli_x' })).toEqual([401, 'invalid_client']);
    expect(await send({ client_id: withSecret.client_id })).toEqual([401, 'invalid_client']);
    expect(await send({ client_id, scope: 'no:such' })).toEqual([400, 'invalid_scope']);
    expect(await send({ client_id, resource: 'https://elsewhere.example' })).toEqual([400, 'invalid_target']);
    const browserClient = await register(t, { token_endpoint_auth_method: 'none' });
    expect(browserClient.grant_types).not.toContain(DEVICE_CODE);
    expect(await send({ client_id: browserClient.client_id })).toEqual([400, 'unauthorized_client']);
  });
});

describe('the token endpoint', () => {
  it('[RFC 8628 3.4, 3.5] a device code is pending until the person allows it, then returns tokens once', async () => {
    const { client, device } = await startDevice(t, { scope: 'mcp:read mcp:execute agents:write' });
    expect(await poll(client, device)).toEqual([400, 'authorization_pending']);
    expect((await answerDevice(t, person, device.user_code)).status).toBe(303);
    const answers = await Promise.all(Array.from({ length: 4 }, () => pollDevice(t, client, device.device_code)));
    expect(answers.map((r) => r.status).sort()).toEqual([200, 400, 400, 400]);
    const { body } = answers.find((r) => r.status === 200) as Json;
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'mcp:read mcp:execute' });
    expect(await t.legate.mcp.validateToken(body.access_token)).toMatchObject({ valid: true, userId: person.id });
    expect((await refreshWith(t, client, body.refresh_token)).status).toBe(200);
    expect(await poll(client, device)).toEqual([400, 'invalid_grant']);
    const [grant] = (await t.call('GET', '/oauth/grants', { as: person })).body;
    expect(grant).toMatchObject({ clientName: 'Television', kind: 'device_code', userId: person.id });
  });

  it('[RFC 8628 3.5] a device that does not wait is told to slow down, by 5 seconds each time', async () => {
    const { client, device } = await startDevice(t);
    expect(await poll(client, device)).toEqual([400, 'authorization_pending']);
    t.clock.advance(5000);
    expect(await poll(client, device)).toEqual([400, 'authorization_pending']);
    t.clock.advance(2000);
    expect(await poll(client, device)).toEqual([400, 'slow_down']);
    t.clock.advance(6000);
    expect(await poll(client, device)).toEqual([400, 'slow_down']);
    t.clock.advance(15_000);
    expect(await poll(client, device)).toEqual([400, 'authorization_pending']);
  });

  it('[RFC 8628 3.5] a device learns that the person denied, or that the code has expired', async () => {
    const denied = await startDevice(t);
    const r = await answerDevice(t, person, denied.device.user_code, { decision: 'deny' });
    expect([r.status, r.headers.get('location')]).toEqual([303, '/device?done=denied']);
    expect(await poll(denied.client, denied.device)).toEqual([400, 'access_denied']);
    const late = await startDevice(t);
    t.clock.advance(600_000);
    expect(await poll(late.client, late.device)).toEqual([400, 'expired_token']);
    expect((await answerDevice(t, person, late.device.user_code)).status).toBe(400);
  });

  it('refuses the code of another client and an unknown code in the same words, and keeps the code', async () => {
    const { client, device } = await startDevice(t);
    const other = await deviceClient(t);
    await answerDevice(t, person, device.user_code);
    const fields = { grant_type: DEVICE_CODE, device_code: device.device_code, client_id: client.client_id };
    const wrong = [
      await pollDevice(t, other, device.device_code),
      await pollDevice(t, client, `${device.device_code}x`),
    ];
    for (const r of wrong) expect([r.status, r.body]).toEqual([400, wrong[0]?.body]);
    expect(wrong[0]?.body.error).toBe('invalid_grant');
    const { device_code: _, ...without } = fields;
    expect((await form(t, '/oauth/token', without)).body.error).toBe('invalid_request');
    expect((await pollDevice(t, client, device.device_code)).status).toBe(200);
  });

  it('[RFC 8707 2.2] another resource is invalid_target, before and after the answer, and keeps the code', async () => {
    const endpoint = 'https://devices.example/mcp';
    await t.call('POST', '/mcp/servers', { as: await t.admin(), body: { name: 'devices', endpoint } });
    const { client, device } = await startDevice(t);
    const other = await deviceClient(t);
    const fields = { grant_type: DEVICE_CODE, device_code: device.device_code, client_id: client.client_id };
    const at = async (more: Record<string, string>) => {
      const r = await form(t, '/oauth/token', { ...fields, ...more });
      return [r.status, r.body.error];
    };
    expect(await at({ resource: endpoint })).toEqual([400, 'invalid_target']);
    await answerDevice(t, person, device.user_code);
    expect(await at({ resource: endpoint })).toEqual([400, 'invalid_target']);
    expect(await at({ resource: endpoint, client_id: other.client_id })).toEqual([400, 'invalid_grant']);
    expect(await at({ resource: 'http://localhost:3000' })).toEqual([200, undefined]);
    expect(await at({ resource: endpoint })).toEqual([400, 'invalid_grant']);
  });

  it('returns no tokens after the agent was revoked, the client deleted or the password reset', async () => {
    const someone = await signUp(t);
    const admin = await t.admin();
    const revoked = await startDevice(t);
    await answerDevice(t, someone, revoked.device.user_code);
    const [agent] = (await t.call('GET', '/agents', { as: someone })).body;
    await t.call('DELETE', `/agents/${agent.id}`, { as: someone });
    expect(await poll(revoked.client, revoked.device)).toEqual([400, 'invalid_grant']);
    const deleted = await startDevice(t);
    await answerDevice(t, someone, deleted.device.user_code);
    await t.call('DELETE', `/oauth/clients/${deleted.client.client_id}`, { as: admin });
    expect(await poll(deleted.client, deleted.device)).toEqual([401, 'invalid_client']);
    const demoted = await startDevice(t);
    await answerDevice(t, someone, demoted.device.user_code);
    await t.call('PATCH', `/users/${someone.id}`, { as: admin, body: { role: 'auditor' } });
    expect(await poll(demoted.client, demoted.device)).toEqual([400, 'invalid_grant']);
  });

  it('[RFC 8628 4; RFC 8414 2] the device flow works with oauth4webapi, starting from the metadata', async () => {
    const issuer = new URL(t.legate.baseUrl);
    const toUs = {
      [oauth.allowInsecureRequests]: true,
      [oauth.customFetch]: (url: string, init: object) => t.legate.fetch(new Request(url, init as RequestInit)),
    } as const;
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { ...toUs, algorithm: 'oauth2' }),
    );
    expect(as.grant_types_supported).toContain(DEVICE_CODE);
    const client: oauth.Client = { client_id: (await deviceClient(t)).client_id };
    const device = await oauth.processDeviceAuthorizationResponse(
      as,
      client,
      await oauth.deviceAuthorizationRequest(
        as,
        client,
        oauth.None(),
        new URLSearchParams({ scope: 'mcp:read' }),
        toUs,
      ),
    );
    const ask = async () =>
      oauth.processDeviceCodeResponse(
        as,
        client,
        await oauth.deviceCodeGrantRequest(as, client, oauth.None(), device.device_code, toUs),
      );
    await expect(ask()).rejects.toMatchObject({ error: 'authorization_pending', status: 400 });
    await answerDevice(t, person, device.user_code);
    expect(await ask()).toMatchObject({ token_type: 'bearer', scope: 'mcp:read' });
  });
});

describe('the page for the code', () => {
  it('[RFC 8628 3.3.1, 5.4] the code page names client, scopes and place, and does nothing by itself', async () => {
    const client = await deviceClient(t, { client_name: '<b>Television</b>' });
    const { device } = await startDevice(t, { scope: 'mcp:read agents:write' }, client);
    const browser = browserOf(person);
    const filled = await browser.get(`/device?user_code=${device.user_code}`);
    expect(filled.text).toContain(`value="${device.user_code}"`);
    expect(filled.text).not.toContain('Television');
    expect(filled.headers.get('content-security-policy')).toContain("default-src 'none'");
    const shown = await browser.post('/device', { user_code: device.user_code.toLowerCase().replace('-', ' ') });
    expect(shown.status).toBe(200);
    expect(shown.text).toContain('&lt;b&gt;Television&lt;/b&gt;');
    expect(shown.text).toContain(device.user_code);
    expect(shown.text).toContain('Requested from');
    expect(shown.text).toMatch(/id="scope:mcp:read"[^>]* checked/);
    expect(shown.text).not.toMatch(/id="scope:agents:write"[^>]* checked/);
    expect(await poll(client, device)).toEqual([400, 'authorization_pending']);
    const none = await browser.post('/device', { user_code: device.user_code, decision: 'allow' });
    expect([none.status, none.text.includes('Tick at least one permission')]).toEqual([400, true]);
    const foreign = await t.agent(await t.user());
    const borrowed = await answerDevice(t, person, device.user_code, { agent: foreign.id });
    expect(borrowed.status).toBe(400);
    expect((await browser.get('/device?done=allowed')).text).toContain('The device is connected');
    expect((await browser.get('/device?lang=de')).text).toContain('Gerät verbinden');
  });

  it('redirects to the sign-in page and back with the code, and refuses forms of other sites', async () => {
    const { client, device } = await startDevice(t);
    const anonymous = await new FormClient(t).get(`/device?user_code=${device.user_code}`);
    expect(anonymous.status).toBe(303);
    const returnTo = new URL(anonymous.headers.get('location') ?? '', t.legate.baseUrl).searchParams.get('returnTo');
    expect(returnTo).toBe(`/device?user_code=${device.user_code}`);
    const fields = { user_code: device.user_code, decision: 'allow', 'scope:mcp:read': 'on' };
    const elsewhere = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await browserOf(person).post('/device', fields, elsewhere)).status).toBe(403);
    expect(await poll(client, device)).toEqual([400, 'authorization_pending']);
  });

  it('accepts one decision on a request, also when two people decide at the same time', async () => {
    const { client, device } = await startDevice(t);
    const people = [person, await signUp(t), await signUp(t)];
    const answers = await Promise.all(people.map((someone) => answerDevice(t, someone, device.user_code)));
    expect(answers.map((r) => r.status).sort()).toEqual([303, 400, 400]);
    const { body } = await pollDevice(t, client, device.device_code);
    const first = people[answers.findIndex((r) => r.status === 303)];
    expect(await t.legate.mcp.validateToken(body.access_token)).toMatchObject({ userId: first?.id });
  });

  it('repeats the first response to a form that is sent twice, and creates one agent', async () => {
    const someone = await signUp(t);
    const { client, device } = await startDevice(t);
    const twice = await Promise.all(Array.from({ length: 8 }, () => answerDevice(t, someone, device.user_code)));
    const denied = await answerDevice(t, someone, device.user_code, { decision: 'deny' });
    for (const r of [...twice, denied])
      expect([r.status, r.headers.get('location')]).toEqual([303, '/device?done=allowed']);
    expect((await t.call('GET', '/agents', { as: someone })).body).toHaveLength(1);
    expect((await pollDevice(t, client, device.device_code)).status).toBe(200);
    expect((await answerDevice(t, someone, device.user_code)).headers.get('location')).toBe('/device?done=allowed');
    expect((await answerDevice(t, person, device.user_code)).status).toBe(400);

    const other = await startDevice(t);
    for (const decision of ['deny', 'allow'])
      expect((await answerDevice(t, someone, other.device.user_code, { decision })).headers.get('location')).toBe(
        '/device?done=denied',
      );
    expect(await poll(other.client, other.device)).toEqual([400, 'access_denied']);
  });

  it('[RFC 8628 5.1] a person may guess five codes in a minute, including concurrent guesses', async () => {
    const someone = await signUp(t);
    const { device } = await startDevice(t);
    const guesses = await Promise.all(
      ['BBBB-BBBB', 'CCCC-CCCC', 'x', '', 'DDDD-DDDD', 'FFFF-FFFF', 'GGGG-GGGG'].map((code) =>
        showDevice(t, someone, code),
      ),
    );
    expect(guesses.map((r) => r.status).sort()).toEqual([400, 400, 400, 400, 400, 429, 429]);
    const refused = await showDevice(t, someone, device.user_code);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    expect((await answerDevice(t, someone, device.user_code)).status).toBe(429);
    expect((await showDevice(t, person, device.user_code)).status).toBe(200);
    t.clock.advance(60_000);
    expect((await showDevice(t, someone, device.user_code)).status).toBe(200);
  });

  it('records the person who decided, and ends the access like that of any application', async () => {
    const someone = await signUp(t);
    const { client, device } = await startDevice(t);
    await answerDevice(t, someone, device.user_code);
    const { body } = await pollDevice(t, client, device.device_code);
    const waiting = await startDevice(t, {}, client);
    await answerDevice(t, someone, waiting.device.user_code);
    const [event] = (await t.call('GET', '/changes?type=device.answered', { as: someone })).body;
    expect(event).toMatchObject({
      data: { clientId: client.client_id, answer: 'allowed', scope: 'mcp:read mcp:execute' },
      actor: { kind: 'user', id: someone.id, clientId: client.client_id },
    });
    const [grant] = (await t.call('GET', '/oauth/grants', { as: someone })).body;
    expect((await t.call('DELETE', `/oauth/grants/${grant.id}`, { as: someone })).status).toBe(204);
    expect((await t.legate.mcp.validateToken(body.access_token)).valid).toBe(false);
    expect(await poll(client, waiting.device)).toEqual([400, 'invalid_grant']);
  });

  it('treats a code like a wrong one when the client’s metadata document is no longer valid', async () => {
    const host = await openIssuer();
    const own = await createTestService({ config: { mcp: { allowPrivateNetworks: true } } });
    const client_id = `${host.address}/client`;
    host.documents['/client'] = { client_id, client_name: 'Television', redirect_uris: [], grant_types: [DEVICE_CODE] };
    const someone = await signUp(own);
    const { device } = await startDevice(own, {}, { client_id });
    expect((await showDevice(own, someone, device.user_code)).status).toBe(200);
    host.documents['/client'] = { client_id, client_name: 'Television', client_secret: 'x' };
    own.clock.advance(60_000);
    for (const show of [showDevice, answerDevice]) {
      const page = await show(own, someone, device.user_code);
      expect([page.status, page.text.includes('name="user_code"')]).toEqual([400, true]);
    }
  });

  it('creates no agent if the client is deleted, because it was never used, while the person answers', async () => {
    const own = await createTestService();
    const someone = await signUp(own);
    const client = await deviceClient(own);
    own.clock.advance(DAY_MS - 1000);
    const { device } = await startDevice(own, {}, client);
    own.clock.advance(2000);
    const { platform } = own.legate;
    const change = platform.ledger.change.bind(platform.ledger);
    const changing = vi.spyOn(platform.ledger, 'change').mockImplementation(async (by, work) => {
      // The client has been read by then.
      if (by.clientId !== undefined) await deleteStale(platform);
      return change(by, work);
    });
    const answered = await answerDevice(own, someone, device.user_code);
    changing.mockRestore();
    expect([answered.status, answered.text.includes('name="user_code"')]).toEqual([400, true]);
    expect((await own.call('GET', '/agents', { as: someone })).body).toEqual([]);
  });

  it('refuses decisions of auditors', async () => {
    const { client, device } = await startDevice(t);
    const auditor = await t.user({ role: 'auditor' });
    expect((await answerDevice(t, auditor, device.user_code)).status).toBe(403);
    expect(await poll(client, device)).toEqual([400, 'authorization_pending']);
  });
});
