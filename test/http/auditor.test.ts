import { describe, expect, it } from 'vitest';
import { distinctRoutes } from '../support/endpoints.ts';
import { ask, authorizePath, register, signUp } from '../support/oauth.ts';
import { createTestService, type TestService } from '../support/service.ts';
import { grant, newScene } from './matrix.scene.ts';

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> => (service ??= createTestService({ lasting: true }));
const auditorOf = (t: TestService) => t.user({ role: 'auditor' });

const question = { action: 'read', resource: 'db:x' };

/** The requests other than GET that an auditor may send. The permission matrix has the status of every endpoint. */
const MAY_SEND: Readonly<Record<string, 'none' | 'ownAccount'>> = {
  'POST /authorize': 'none',
  'POST /authorize/batch': 'none',
  'POST /agents/:id/permissions/filter': 'none',
  'POST /agents/:id/permissions/replay': 'none',
  'POST /access/v1/search/subject': 'none',
  'POST /access/v1/search/resource': 'none',
  'POST /access/v1/search/action': 'none',
  'POST /api/legate/oauth/introspect': 'none',
  'POST /events/ticket': 'none',
  'POST /api-tokens': 'ownAccount',
  'DELETE /api-tokens/:id': 'ownAccount',
  'DELETE /auth/sessions': 'ownAccount',
  'DELETE /auth/sessions/:id': 'ownAccount',
  'POST /account/devices': 'ownAccount',
  'POST /account/connections': 'ownAccount',
  'POST /account/passkeys': 'ownAccount',
  'POST /account/password': 'ownAccount',
  'POST /account/tokens': 'ownAccount',
  'POST /account/tokens/revoke': 'ownAccount',
  'POST /account/two-factor/devices': 'ownAccount',
  'DELETE /passkeys/:id': 'ownAccount',
  'POST /password/change': 'ownAccount',
  'POST /totp/disable': 'ownAccount',
};

describe('the role auditor', () => {
  it('is refused by every changing route, unless it declares that it changes nothing or the own account', async () => {
    const t = await shared();
    const declared = distinctRoutes(t.legate.platform.config).flatMap(({ route, path }) =>
      route.effect === undefined ? [] : [[`${route.method} ${path}`, route.effect]],
    );
    expect(Object.fromEntries(declared)).toEqual(MAY_SEND);
  });

  it('can read what others own', async () => {
    const t = await shared();
    const { owner, agent } = await newScene(t);
    const auditor = await auditorOf(t);
    const { auditId } = (await t.authorize(agent, question)).body;
    const paths = [
      `/agents/${agent.id}`,
      `/agents/${agent.id}/permissions`,
      `/audit/${auditId}`,
      `/users/${owner.id}`,
      `/users/${owner.id}/sessions`,
    ];
    for (const path of paths) expect([path, (await t.call('GET', path, { as: auditor })).status]).toEqual([path, 200]);
    const listed = await t.call('GET', `/agents?ownerId=${owner.id}`, { as: auditor });
    expect(listed.body.map((a: { id: string }) => a.id)).toContain(agent.id);
    const events = await t.call('GET', '/events?types=agent.created', { as: auditor });
    expect(events.body.map((e: { agentId: string }) => e.agentId)).toContain(agent.id);
    expect((await t.call('GET', '/metrics', { as: auditor })).status).toBe(200);
  });

  it('can ask for decisions only as a dry run, and nothing is recorded', async () => {
    const t = await shared();
    const { agent } = await newScene(t);
    const auditor = await auditorOf(t);
    const dry = await t.authorize(auditor, { agentId: agent.id, ...question, dryRun: true, explain: true });
    expect(dry.body).toMatchObject({ allowed: true });
    expect((await t.authorize(auditor, { agentId: agent.id, ...question })).status).toBe(403);
    const both = [
      { agentId: agent.id, ...question, dryRun: true },
      { agentId: agent.id, ...question },
    ];
    expect((await t.call('POST', '/authorize/batch', { as: auditor, body: { requests: both } })).status).toBe(403);
    expect(
      (await t.call('POST', '/authorize/batch', { as: auditor, body: { requests: both.slice(0, 1) } })).body,
    ).toMatchObject({ results: [{ allowed: true }] });
    expect((await t.call('GET', `/audit?agentId=${agent.id}`, { as: auditor })).body).toEqual([]);
  });

  it('cannot change its own agents either', async () => {
    const t = await shared();
    const { owner, agent } = await newScene(t);
    const admin = await t.admin();
    await t.call('PATCH', `/users/${owner.id}`, { as: admin, body: { role: 'auditor' } });
    const renamed = await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { name: 'x' } });
    expect([renamed.status, renamed.body.error.code]).toEqual([403, 'FORBIDDEN']);
    expect((await t.call('GET', `/agents/${agent.id}`, { as: owner })).body.name).toBe('agent');
  });

  it('has its own API tokens, which can only read', async () => {
    const t = await shared();
    const { owner, agent } = await newScene(t);
    const auditor = await auditorOf(t);
    const make = (body: object) => t.call('POST', '/api-tokens', { as: auditor, body: { name: 'x', ...body } });
    const all = (await make({})).body;
    const narrowed = (await make({ scopes: ['agents:read', 'agents:write'] })).body;
    for (const { token } of [all, narrowed]) {
      expect((await t.call('GET', `/agents/${agent.id}`, { as: token })).status).toBe(200);
      expect((await t.call('DELETE', `/agents/${agent.id}`, { as: token })).status).toBe(403);
    }
    expect((await t.call('GET', '/audit', { as: narrowed.token })).status).toBe(403);
    const others = (await t.call('POST', '/api-tokens', { as: owner, body: { name: 'one' } })).body;
    expect((await t.call('DELETE', `/api-tokens/${others.id}`, { as: auditor })).status).toBe(404);
    expect((await t.call('DELETE', `/api-tokens/${all.id}`, { as: auditor })).status).toBe(204);
    expect((await t.call('GET', '/agents', { as: all.token })).status).toBe(401);
  });

  it('is set by administrators, and takes effect with the next request', async () => {
    const t = await shared();
    const admin = await t.admin();
    const person = await t.user();
    expect((await t.call('GET', '/users', { as: person })).status).toBe(403);
    const set = await t.call('PATCH', `/users/${person.id}`, { as: admin, body: { role: 'auditor' } });
    expect(set.body).toMatchObject({ role: 'auditor' });
    expect(
      (await t.call('GET', '/users?role=auditor', { as: person })).body.map((u: { id: string }) => u.id),
    ).toContain(person.id);
    expect((await t.call('PATCH', `/users/${person.id}`, { as: person, body: { role: 'admin' } })).status).toBe(403);
    expect((await t.call('PATCH', `/users/${person.id}`, { as: admin, body: { role: 'auditors' } })).status).toBe(400);
    const invited = await t.call('POST', '/invites', {
      as: admin,
      body: { email: `a-${person.email}`, role: 'auditor' },
    });
    expect([invited.status, invited.body.role]).toEqual([201, 'auditor']);
    const inviteToken = new URL(invited.body.url, 'http://localhost').searchParams.get('invite');
    const joined = await t.call('POST', '/sign-up', {
      body: { email: `a-${person.email}`, password: 'correct horse battery', inviteToken },
    });
    expect(joined.body.user.role).toBe('auditor');
    expect((await t.call('GET', '/users', { as: joined.body.token })).status).toBe(200);
    expect((await t.call('POST', '/sign-out', { as: joined.body.token })).status).toBe(204);
    const made = await t.legate.users.create({
      email: `b-${person.email}`,
      password: 'correct horse',
      role: 'auditor',
    });
    expect(made.role).toBe('auditor');
  });

  it('ends the invitations of an administrator and the access of applications when it is set', async () => {
    const t = await shared();
    const s = await newScene(t);
    const admin = await t.admin();
    const grantId = await grant(s);
    await t.call('PATCH', `/users/${s.owner.id}`, { as: admin, body: { role: 'auditor' } });
    const grants = await t.call('GET', '/oauth/grants', { as: admin });
    expect(grants.body.map((g: { id: string }) => g.id)).not.toContain(grantId);
    const [event] = (await t.call('GET', '/events?types=grant.revoked&limit=1', { as: admin })).body;
    expect(event.data).toMatchObject({ grantId, reason: 'role-changed' });
  });

  it('cannot give an application access to its account', async () => {
    const t = await shared();
    const person = await signUp(t);
    await t.call('PATCH', `/users/${person.id}`, { as: await t.admin(), body: { role: 'auditor' } });
    const client = await register(t);
    const r = await t.call('GET', authorizePath(ask(client)), { as: person });
    const allowed = await t.call('POST', '/oauth/consent', {
      as: person,
      body: { decision: 'allow', consentToken: 'x' },
    });
    expect([r.text.includes('access_denied') || r.headers.get('location')?.includes('access_denied')]).toEqual([true]);
    expect(allowed.status).toBe(403);
  });

  it("can be a role from the application's own sign-in too", async () => {
    const t = await createTestService({
      authenticate: (request) =>
        request.headers.get('x-user') === null ? null : { userId: 'theirs', role: 'auditor' as const },
    });
    const agent = await t.agent(await t.user());
    const headers = { 'x-user': '1' };
    expect((await t.call('GET', `/agents/${agent.id}`, { headers })).status).toBe(200);
    expect((await t.call('DELETE', `/agents/${agent.id}`, { headers })).status).toBe(403);
    expect((await t.call('POST', '/events/ticket', { headers })).status).toBe(200);
  });
});
