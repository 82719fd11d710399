import { expect, it } from 'vitest';
import { eventsOf } from '../../../test/support/events.ts';
import { openMailbox } from '../../../test/support/mailbox.ts';
import { claimsOf, refreshWith, register, signUp, tokens } from '../../../test/support/oauth.ts';
import { createTestService, type TestService, type TestUser } from '../../../test/support/service.ts';
import { openStream } from '../../../test/support/stream.ts';
import type { Id } from '../../kernel/ids.ts';

const READ = { action: 'read', resource: 'db:x' };
const permissions = [{ resource: 'db:*', actions: ['read'] }];
const credentials = (person: { email: string }) => ({ email: person.email, password: 'correct horse battery' });

const set = (t: TestService, admin: TestUser, id: string, status: string, query = '') =>
  t.call('PATCH', `/users/${id}${query}`, { as: admin, body: { status } });

async function scene(t: TestService) {
  const admin = await t.admin();
  const email = `${crypto.randomUUID()}@example.com`;
  const signedUp = (await t.call('POST', '/sign-up', { body: credentials({ email }) })).body;
  const person = { ...(await t.user()), id: signedUp.user.id as Id<'user'>, email, token: signedUp.token as string };
  return { admin, person };
}

it('suspends and reinstates: sign-in, sessions, API tokens, and the event with before and after', async () => {
  const t = await createTestService();
  const { admin, person } = await scene(t);
  const apiToken = await t.apiToken(person.id);
  const wrong = await t.call('POST', '/sign-in', { body: { email: person.email, password: 'not the password' } });

  const suspended = await set(t, admin, person.id, 'suspended');
  expect([suspended.status, suspended.body.status]).toEqual([200, 'suspended']);
  expect((await t.call('GET', `/users/${person.id}`, { as: admin })).body.status).toBe('suspended');
  const refused = await t.call('POST', '/sign-in', { body: credentials(person) });
  expect([refused.status, refused.body.error.code, refused.body.error.message]).toEqual([
    wrong.status,
    wrong.body.error.code,
    wrong.body.error.message,
  ]);
  expect((await t.call('GET', '/auth/session', { as: person.token })).status).toBe(401);
  expect((await t.call('GET', '/agents', { as: apiToken })).status).toBe(401);

  expect((await set(t, admin, person.id, 'active')).body.status).toBe('active');
  expect((await t.call('GET', '/auth/session', { as: person.token })).status).toBe(401);
  expect((await t.call('GET', '/agents', { as: apiToken })).status).toBe(200);
  expect((await t.call('POST', '/sign-in', { body: credentials(person) })).status).toBe(200);

  const events = (await t.call('GET', '/events?types=user.updated', { as: admin })).body;
  const changes = events.filter((e: { data: { changed: string[] } }) => e.data.changed.includes('status'));
  expect(
    changes
      .reverse()
      .map((e: { before: { status: string }; after: { status: string } }) => [e.before.status, e.after.status]),
  ).toEqual([
    ['active', 'suspended'],
    ['suspended', 'active'],
  ]);
  const ended = (await eventsOf(t)).filter((e) => e.type === 'session.ended');
  expect(ended.map((e) => e.data.reason)).toEqual(['user-suspended']);
});

it('refuses every decision about the agents, which keep their state and work again afterwards', async () => {
  const t = await createTestService();
  const { admin, person } = await scene(t);
  const agent = await t.agent(person, { permissions });
  const other = await t.agent(person, {
    permissions: [...permissions, { resource: 'legate:audit', actions: ['read'] }],
  });
  const decide = async (as: { token: string }, more: object = {}) =>
    (await t.authorize(as, { agentId: agent.id, ...READ, ...more })).body;
  const before = await decide(agent);
  expect(before.allowed).toBe(true);
  const tag = (await t.call('GET', `/agents/${agent.id}`, { as: admin })).headers.get('etag');

  await set(t, admin, person.id, 'suspended');
  const refused = await decide(agent);
  expect(refused).toEqual({ allowed: false, auditId: expect.any(String), reason: 'OWNER_SUSPENDED' });
  const { reason, trace } = await decide(admin, { explain: true });
  expect([reason, trace.agentStatus, trace.entries[0].outcome]).toEqual([
    'OWNER_SUSPENDED',
    'active',
    'agent-not-active',
  ]);
  const evaluation = await t.call('POST', '/access/v1/evaluation', {
    as: admin,
    body: {
      subject: { type: 'agent', id: agent.id },
      action: { name: 'read' },
      resource: { type: 'db', id: 'x' },
    },
  });
  expect([evaluation.status, evaluation.body.decision]).toEqual([200, false]);
  expect(evaluation.text).toContain('OWNER_SUSPENDED');
  const entry = (await t.call('GET', `/audit?agentId=${agent.id}&limit=1`, { as: admin })).body[0];
  expect(entry.reason).toBe('OWNER_SUSPENDED');
  const shown = await t.call('GET', `/agents/${agent.id}`, { as: admin });
  expect([shown.body.status, shown.headers.get('etag')]).toEqual(['active', tag]);
  const visible = (await t.call('GET', '/audit', { as: other })).body;
  expect(visible.filter((e: { agentId: string }) => e.agentId !== other.id)).toEqual([]);
  const late = await t.agent(admin, { ownerId: person.id, permissions });
  expect((await t.authorize(admin, { agentId: late.id, ...READ })).body.reason).toBe('OWNER_SUSPENDED');

  await set(t, admin, person.id, 'active');
  expect((await decide(agent)).allowed).toBe(true);
  expect((await t.authorize(admin, { agentId: late.id, ...READ })).body.allowed).toBe(true);
  // Each recorded decision is explained by the policy that it was based on.
  const explained = async (id: string) => (await t.call('GET', `/audit/${id}/explain`, { as: admin })).body;
  expect((await explained(refused.auditId)).trace.entries[0].outcome).toBe('agent-not-active');
  expect((await explained(before.auditId)).trace.entries[0].outcome).toBe('allowed');

  await set(t, admin, person.id, 'suspended');
  await t.call('DELETE', `/agents/${agent.id}`, { as: admin });
  expect((await decide(admin)).reason).toBe('AGENT_REVOKED');
});

it('is known to the next decision and the next token call of every instance', async () => {
  const config = { mcp: { signingSecret: 'the same secret for all instances' } };
  const t = await createTestService({ config });
  const instances = [t, await createTestService({ config, sameDatabaseAs: t })];
  const admin = await t.admin();
  const person = await signUp(t);
  const agent = await t.agent(person, { permissions });
  const client = await register(t);
  const got = await tokens(t, person, client);
  const states = () =>
    Promise.all(
      instances.map(async (at) => [
        (await at.authorize(agent, READ)).body.reason,
        (await at.legate.mcp.validateToken(got.access_token)).valid,
      ]),
    );
  // Each instance has kept what it asks for twice.
  for (const _again of [1, 2])
    expect(await states()).toEqual([
      [undefined, true],
      [undefined, true],
    ]);
  expect((await set(t, admin, person.id, 'suspended')).status).toBe(200);
  expect(await states()).toEqual([
    ['OWNER_SUSPENDED', false],
    ['OWNER_SUSPENDED', false],
  ]);
  const other = instances[1] as TestService;
  expect((await refreshWith(other, client, got.refresh_token)).body.error).toBe('invalid_grant');
  expect((await set(other, admin, person.id, 'active')).status).toBe(200);
  expect(await states()).toEqual([
    [undefined, false],
    [undefined, false],
  ]);
});

it('disables what the agents delegated to agents of other owners', async () => {
  const t = await createTestService();
  const admin = await t.admin();
  const tenantId = await t.tenant();
  const [person, neighbour] = [await t.user({ tenantId }), await t.user({ tenantId })];
  const from = await t.agent(person, { permissions });
  const to = await t.agent(neighbour);
  const made = await t.call('POST', '/delegations', {
    as: admin,
    body: { fromAgent: from.id, toAgent: to.id, permissions },
  });
  expect(made.status).toBe(201);
  const decide = async () => (await t.authorize(to, READ)).body;
  expect((await decide()).allowed).toBe(true);
  await set(t, admin, person.id, 'suspended');
  expect(await decide()).toMatchObject({ allowed: false, reason: 'NO_PERMISSION' });
  expect((await t.call('GET', `/agents/${to.id}/permissions`, { as: admin })).body).toEqual(
    expect.not.arrayContaining([expect.objectContaining({ resource: 'db:*' })]),
  );
  await set(t, admin, person.id, 'active');
  expect((await decide()).allowed).toBe(true);
});

it('does not let the agents delegate, so that nothing new applies when the owner is reinstated', async () => {
  const t = await createTestService();
  const { admin, person } = await scene(t);
  const from = await t.agent(person, { permissions });
  const to = await t.agent(person);
  const delegate = async (as: { token: string }) =>
    (await t.call('POST', '/delegations', { as, body: { fromAgent: from.id, toAgent: to.id, permissions } })).status;
  await set(t, admin, person.id, 'suspended');
  expect([await delegate(from), await delegate(admin)]).toEqual([403, 201]);
  await set(t, admin, person.id, 'active');
  expect(await delegate(from)).toBe(201);
});

it('ends grants permanently, and revokes no agent with them', async () => {
  const t = await createTestService();
  const admin = await t.admin();
  const person = await signUp(t);
  const client = await register(t);
  const got = await tokens(t, person, client);
  const { sub } = claimsOf(got.access_token);
  await set(t, admin, person.id, 'suspended');
  expect((await t.legate.mcp.validateToken(got.access_token)).valid).toBe(false);
  await set(t, admin, person.id, 'active');
  expect((await t.legate.mcp.validateToken(got.access_token)).valid).toBe(false);
  expect((await refreshWith(t, client, got.refresh_token)).body.error).toBe('invalid_grant');
  expect((await t.call('GET', `/agents/${sub}`, { as: admin })).body.status).toBe('active');
});

it('refuses a client_credentials token for an agent of a suspended owner', async () => {
  const t = await createTestService();
  const admin = await t.admin();
  const person = await t.user();
  const agent = await t.agent(person, { type: 'service', permissions });
  const token = () =>
    t.call('POST', '/oauth/token', {
      raw: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: agent.id,
        client_secret: agent.token,
      }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  expect((await token()).status).toBe(200);
  await set(t, admin, person.id, 'suspended');
  const refused = await token();
  expect([refused.status, refused.body.error]).toEqual([401, 'invalid_client']);
  await set(t, admin, person.id, 'active');
  expect((await token()).status).toBe(200);
});

it('ends the streams of the user and of their agents', async () => {
  const t = await createTestService();
  const { admin, person } = await scene(t);
  const agent = await t.agent(person, { permissions: [{ resource: 'legate:events', actions: ['read'] }] });
  const streams = [await openStream(t, { as: person }), await openStream(t, { as: agent })];
  expect(streams.map(({ seen, ended }) => [seen.map((s) => s.event).includes('error'), ended])).toEqual([
    [false, false],
    [false, false],
  ]);
  await set(t, admin, person.id, 'suspended');
  for (const stream of streams) await stream.end();
  const refused = await openStream(t, { as: agent });
  await refused.end();
  expect(refused.text).toContain('UNAUTHORIZED');
});

it('ends the requests and streams of a user whom the application signed in', async () => {
  const t = await createTestService({
    authenticate: (request) => {
      const userId = request.headers.get('x-user');
      return userId ? { userId, role: userId === 'root' ? 'admin' : 'user' } : null;
    },
  });
  const by = (name: string) => ({ headers: { 'x-user': name } });
  const list = async () => (await t.call('GET', '/agents', by('ada'))).status;
  const setStatus = (status: string) => t.call('PATCH', '/users/ada', { ...by('root'), body: { status } });
  const make = () => t.call('POST', '/agents', { ...by('ada'), body: { ownerId: 'ada', name: 'x', type: 'service' } });
  expect((await make()).status).toBe(201);
  const tickets: string[] = [];
  for (let i = 0; i < 2; i++) tickets.push((await t.call('POST', '/events/ticket', by('ada'))).body.ticket);
  const [now = '', later = ''] = tickets;
  const streams = [await openStream(t, by('ada')), await openStream(t, { query: { ticket: now } })];
  expect((await setStatus('suspended')).status).toBe(200);
  expect([await list(), (await make()).status]).toEqual([401, 401]);
  for (const stream of [...streams, await openStream(t, { query: { ticket: later } })]) {
    await stream.end();
    expect(stream.text).toContain('UNAUTHORIZED');
  }
  expect((await setStatus('active')).status).toBe(200);
  expect(await list()).toBe(200);
});

it('sends no mail to a suspended user', async () => {
  const mailbox = await openMailbox();
  const t = await createTestService({ config: { mail: { url: mailbox.url } } });
  const { admin, person } = await scene(t);
  await set(t, admin, person.id, 'suspended');
  const other = (await scene(t)).person;
  for (const path of ['/password/forgot', '/magic-link', '/email-otp'])
    for (const { email } of [person, other]) expect((await t.call('POST', path, { body: { email } })).status).toBe(200);
  for (let i = 0; i < 3; i++) await mailbox.next(other.email);
  expect(mailbox.mails.filter(({ to }) => to.includes(person.email))).toEqual([]);
});

it('previews a suspension; the last administrator cannot be suspended; only administrators can suspend', async () => {
  const t = await createTestService();
  const { admin, person } = await scene(t);
  const preview = await set(t, admin, person.id, 'suspended', '?preview=true');
  expect(preview.status).toBe(200);
  expect(preview.text).toContain('session.ended');
  expect((await t.call('GET', '/auth/session', { as: person.token })).status).toBe(200);
  expect((await set(t, person, person.id, 'suspended')).status).toBe(403);
  expect((await set(t, admin, person.id, 'frozen')).body.error.code).toBe('VALIDATION_FAILED');
  const last = await set(t, admin, admin.id, 'suspended');
  expect([last.status, last.body.error.code]).toEqual([409, 'LAST_ADMIN']);
  const second = await t.admin();
  expect((await set(t, admin, second.id, 'suspended')).status).toBe(200);
  expect((await set(t, admin, admin.id, 'suspended')).body.error.code).toBe('LAST_ADMIN');
  expect((await t.call('DELETE', `/users/${second.id}`, { as: admin })).status).toBe(204);
});
