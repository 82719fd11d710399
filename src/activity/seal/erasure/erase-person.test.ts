import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { register, signUp, tokens } from '../../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';
import { ownQueue } from '../../../../test/support/webhook-queue.ts';
import { TABLE_NAMES } from '../../../storage/tables.ts';
import { dispatcherOf } from '../../webhooks/dispatcher.ts';
import { checkSealedLedger } from '../index.ts';

const IP = '198.51.100.77';
const REASON = 'moves to Rue des Lilas 7';
const permissions = [{ resource: 'db:*', actions: ['read'] }];
const write = [{ resource: 'db:*', actions: ['read', 'write'] }];

async function dump({ legate }: TestService): Promise<string> {
  const { read } = legate.platform.database;
  return JSON.stringify(await Promise.all(TABLE_NAMES.map((name) => read.selectFrom(name).selectAll().execute())));
}

const reasonsOf = (versions: Json): Json => versions.map((v: Json) => [v.actor.kind, v.actor.ip ?? null, v.reason]);

it('erases addresses and reasons of the person from all histories, and keeps who changed what', async () => {
  const t = await createTestService();
  const tenantId = await t.tenant();
  const [owner, admin, person] = [await t.user({ tenantId }), await t.admin(), await signUp(t)];
  await t.call('PATCH', `/users/${person.id}`, { as: admin, body: { role: 'admin', tenantId } });
  const token = await t.apiToken(person.id);
  const [agent, receiver] = [await t.agent(owner, { permissions }), await t.agent(owner)];
  const [mine, second] = [await t.agent(person, { permissions }), await t.agent(person)];
  const history = async (id: string): Promise<Json> =>
    (await t.call('GET', `/${id.startsWith('agt_') ? 'agents' : 'delegations'}/${id}/history`, { as: admin })).body;
  const asked = async (method: string, path: string, as: { token: string } | string, body?: Json): Promise<Json> => {
    const by = typeof as === 'string' ? { token: as } : as;
    const r = await t.call(method, path, { as: by, ip: IP, ...(body ? { body } : {}) });
    expect([method, path, r.status]).toEqual([method, path, expect.toBeOneOf([200, 201, 204])]);
    return r.body;
  };
  const reason = encodeURIComponent(REASON);
  await asked('PATCH', `/agents/${agent.id}`, person, { permissions: write, reason: REASON });
  await asked('PATCH', `/agents/${agent.id}`, token, { name: 'renamed', reason: REASON });
  await t.legate.as({ userId: person.id, reason: REASON }).agents.update(agent.id, { name: 'again' });
  await t.call('PATCH', `/agents/${agent.id}`, { as: owner, ip: '192.0.2.9', body: { name: 'x', reason: 'tidy' } });
  const foreign = { fromAgent: agent.id, toAgent: receiver.id, permissions, reason: REASON };
  const theirs = (await asked('POST', '/delegations', person, foreign)).id;
  await asked('DELETE', `/delegations/${theirs}?reason=${reason}`, token);
  const within = { fromAgent: mine.id, toAgent: second.id, permissions, reason: REASON };
  const ours = (await asked('POST', '/delegations', mine, within)).id;
  await asked('DELETE', `/delegations/${ours}?reason=${reason}`, person);
  await asked('PATCH', `/agents/${mine.id}`, admin, { name: 'y', reason: REASON });
  const { access_token } = await tokens(t, person, await register(t), { scope: 'delegations:write' });
  const [grant] = (await t.call('GET', '/oauth/grants', { as: person })).body;
  const across = { fromAgent: agent.id, toAgent: grant.agentId, permissions };
  const received = (await t.call('POST', '/delegations', { as: admin, body: across })).body.id;
  await asked('DELETE', `/delegations/${received}?reason=${reason}`, access_token);
  const before = await dump(t);
  for (const secret of [IP, REASON]) expect(before).toContain(secret);

  expect((await t.call('DELETE', `/users/${person.id}?erase=true`, { as: admin })).status).toBe(200);
  const after = await dump(t);
  for (const secret of [IP, REASON]) expect(after).not.toContain(secret);
  const versions = await history(agent.id);
  expect(reasonsOf(versions)).toEqual([
    ['apiToken', '192.0.2.9', 'tidy'],
    ['application', null, undefined],
    ['apiToken', null, undefined],
    ['user', null, undefined],
    ['apiToken', '192.0.2.1', undefined],
  ]);
  expect(versions[2]).toMatchObject({ actor: { userId: person.id }, after: { name: 'renamed' } });
  expect(versions[3]).toMatchObject({ actor: { id: person.id }, after: { permissions: write } });
  expect((await history(theirs)).map((v: Json) => [v.type, v.actor.kind, v.after.status])).toEqual([
    ['delegation.revoked', 'apiToken', 'revoked'],
    ['delegation.created', 'user', 'active'],
  ]);
  expect((await history(ours)).map((v: Json) => [v.type, v.actor.id])).toEqual([
    ['delegation.revoked', person.id],
    ['delegation.created', mine.id],
  ]);
  const [refused] = await history(received);
  expect([refused.type, refused.actor.kind, refused.actor.userId]).toEqual([
    'delegation.revoked',
    'accessToken',
    person.id,
  ]);
});

it('reaches versions beyond the first page of all versions', async () => {
  const t = await createTestService();
  const [owner, admin, person] = [await t.user(), await t.admin(), await t.admin()];
  const agent = await t.agent(owner, { permissions });
  await t.call('PATCH', `/agents/${agent.id}`, { as: person, ip: IP, body: { name: 'x', reason: REASON } });
  const rows = Array.from({ length: 1100 }, (_, i) => ({
    ...{ subject: `agt_0${Math.floor(i / 400)}`, seq: i + 1, version: i + 1, timestamp: 1, type: null },
    ...{ actor: '{"kind":"system","id":"system"}', state: '{}' },
  }));
  const { write: db } = t.legate.platform.database;
  for (let i = 0; i < rows.length; i += 100)
    await db
      .insertInto('versions')
      .values(rows.slice(i, i + 100))
      .execute();
  expect((await t.call('DELETE', `/users/${person.id}?erase=true`, { as: admin })).status).toBe(200);
  for (const secret of [IP, REASON]) expect(await dump(t)).not.toContain(secret);
});

it('keeps the reason of an erasure, also if administrators erase themselves', async () => {
  const t = await createTestService();
  const [admin, self] = [await t.admin(), await t.admin()];
  expect((await t.call('DELETE', `/users/${self.id}?erase=true&reason=mine`, { as: self, ip: IP })).status).toBe(200);
  const events = (await t.call('GET', '/events?types=audit.erased', { as: admin })).body;
  expect(events.map((e: Json) => e.actor)).toContainEqual(
    expect.objectContaining({ kind: 'apiToken', userId: self.id, reason: 'mine' }),
  );
  expect(await dump(t)).not.toContain(IP);
});

it('finds the changes of people whose ids contain characters that JSON or LIKE escape', async () => {
  const t = await createTestService({
    authenticate: (request) => {
      const userId = request.headers.get('x-user');
      return userId === null ? null : { userId, role: 'admin' };
    },
  });
  const [owner, admin] = [await t.user(), await t.admin()];
  const agent = await t.agent(owner, { permissions });
  const ids = ['CORP\\alice', '50%off', 'qu"ote', 'under_score', 'tab\there', '50%'];
  const others = ['CORP\\alicea', '50%offer', 'underXscore', '50', '%'];
  for (const [i, id] of [...ids, ...others].entries()) {
    const headers = { 'x-user': id };
    // Creates the record of the user.
    await t.call('GET', '/auth/session', { headers });
    await t.call('PATCH', `/agents/${agent.id}`, { headers, ip: IP, body: { name: `n${i}` } });
  }
  const addresses = async (list: string): Promise<Json> =>
    Object.fromEntries(
      (await t.call('GET', list, { as: admin })).body.map((c: Json) => [c.actor.id, c.actor.ip ?? null]),
    );
  const lists = [`/changes?subject=${agent.id}`, '/events?types=agent.updated', `/agents/${agent.id}/history`];
  for (const list of lists) expect(await addresses(list)).toMatchObject({ 'CORP\\alice': IP, '50': IP });
  for (const id of ids) {
    const r = await t.call('DELETE', `/users/${encodeURIComponent(id)}?erase=true`, { as: admin });
    expect([id, r.status]).toEqual([id, 200]);
  }
  for (const list of lists)
    expect([list, await addresses(list)]).toEqual([
      list,
      expect.objectContaining({
        ...Object.fromEntries(ids.map((id) => [id, null])),
        ...Object.fromEntries(others.map((id) => [id, IP])),
      }),
    ]);
});

it('erases the addresses of the person from events about invitations, and the metadata of costs', async () => {
  const t = await createTestService({ config: { ledger: { seal: 'on' } } });
  const admin = await t.admin();
  const invite = async (email: string): Promise<Json> => {
    const r = await t.call('POST', '/invites', { as: admin, body: { email } });
    expect(r.status).toBe(201);
    return r.body;
  };
  await invite('Lilas@example.com');
  await invite('lilas@example.com');
  const withdrawn = await invite('lilas@example.com');
  await t.call('DELETE', `/invites/${withdrawn.id}`, { as: admin });
  await invite('other.person@example.com');
  const { url } = await invite('lilas@example.com');
  const password = 'correct horse battery staple';
  const token = new URL(url).searchParams.get('invite');
  const account = { email: 'LILAS@example.com', password, inviteToken: token };
  const signedUp = await t.call('POST', '/sign-up', { body: account });
  expect(signedUp.status).toBe(200);
  const person = { id: signedUp.body.user.id, token: signedUp.body.token };
  const agent = await t.agent(person as never);
  const cost = { agentId: agent.id, amount: 1, metadata: { for: 'lilas' } };
  expect((await t.call('POST', '/costs', { as: admin, body: cost })).status).toBe(201);
  await t.legate.ledger.checkpoint();
  const invites = async (list: string): Promise<Json> => (await t.call('GET', list, { as: admin })).body;
  const lists = ['/changes?type=invite.created', '/changes?type=invite.accepted', '/changes?type=invite.revoked'];
  const count = async (): Promise<number[]> => Promise.all(lists.map(async (list) => (await invites(list)).length));
  const before = await count();
  expect(before).toEqual([5, 1, 3]);
  expect((await dump(t)).toLowerCase()).toContain('lilas');

  expect((await t.call('DELETE', `/users/${person.id}?erase=true`, { as: admin })).status).toBe(200);
  expect((await dump(t)).toLowerCase()).not.toContain('lilas');
  expect(await count()).toEqual(before);
  const [accepted] = await invites('/events?types=invite.accepted');
  expect(accepted).toMatchObject({ actor: { id: person.id }, before: { role: 'user', invitedBy: admin.id } });
  expect(JSON.stringify(await invites('/events?types=invite.created'))).toContain('other.person@example.com');
  expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
});

it('erases the same from messages to webhooks, which are kept', async () => {
  const t = await createTestService();
  const [owner, admin] = [await t.user(), await t.admin()];
  const agent = await t.agent(owner, { permissions });
  const webhook = await t.call('POST', '/webhooks', { as: admin, body: { url: 'https://hooks.example/x' } });
  const email = 'lilas@example.com';
  const invited = await t.call('POST', '/invites', { as: admin, body: { email, role: 'admin' } });
  expect([webhook.status, invited.status]).toEqual([201, 201]);
  const inviteToken = new URL(invited.body.url).searchParams.get('invite');
  const account = { email, password: 'correct horse battery staple', inviteToken };
  const signedUp = (await t.call('POST', '/sign-up', { body: account })).body;
  const person = { id: signedUp.user.id, token: signedUp.token };
  await t.call('PATCH', `/agents/${agent.id}`, { as: person, ip: IP, body: { name: 'x', reason: REASON } });
  const other = { as: owner, ip: '192.0.2.9', body: { name: 'y', reason: 'tidy' } };
  await t.call('PATCH', `/agents/${agent.id}`, other);
  await dispatcherOf(t.legate.platform).run();
  const { write: db } = t.legate.platform.database;
  await db.deleteFrom('webhook_attempts').execute();
  const deliveries = db.selectFrom('webhook_deliveries').select(['id', 'type', 'body', 'status']).orderBy('id');
  const queued = await deliveries.where('type', 'in', ['invite.created', 'agent.updated']).execute();
  for (const [i, { id }] of queued.entries())
    await db
      .insertInto('webhook_attempts')
      .values({ id: `att_${i}`, delivery_id: id, at: 1, status: 500, error: 'x', duration_ms: 1, answer: REASON })
      .execute();
  const before = await dump(t);
  for (const secret of [IP, REASON, email]) expect(before).toContain(secret);

  expect((await t.call('DELETE', `/users/${person.id}?erase=true`, { as: admin })).status).toBe(200);
  const after = await deliveries.where('type', 'in', ['invite.created', 'agent.updated']).execute();
  expect(after.map(({ id, type, status }) => [id, type, status])).toEqual(
    queued.map(({ id, type, status }) => [id, type, status]),
  );
  const [invite, first, second] = after.map(({ body }) => JSON.parse(body));
  expect(invite.after).toMatchObject({ role: 'admin', invitedBy: admin.id });
  expect(first.actor).toEqual({ kind: 'user', id: person.id });
  expect(second).toEqual(JSON.parse(queued[2]?.body ?? ''));
  for (const secret of [IP, REASON, email]) expect(JSON.stringify(after)).not.toContain(secret);
  const answers = await db.selectFrom('webhook_attempts').select(['id', 'answer']).where('at', '=', 1).execute();
  expect(answers.map(({ answer }) => answer)).toEqual([null, null, REASON]);
});

it('erases what the queue of webhooks has read and stores during the erasure', async () => {
  const t = await createTestService();
  const admin = await t.admin();
  await t.call('POST', '/webhooks', { as: admin, body: { url: 'https://hooks.example/x' } });
  let goOn = (): void => {};
  const mayStore = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let hasRead = false;
  const run = ownQueue(t, () => {
    hasRead = true;
    return mayStore;
  });
  const email = 'lilas@example.com';
  const invited = await t.call('POST', '/invites', { as: admin, body: { email, role: 'user' } });
  const inviteToken = new URL(invited.body.url).searchParams.get('invite');
  const account = { email, password: 'correct horse battery staple', inviteToken };
  const { user } = (await t.call('POST', '/sign-up', { body: account })).body;
  await t.legate.platform.background.idle();

  const queueing = run();
  await until(() => hasRead);
  const { ledger, database } = t.legate.platform;
  const maintain = ledger.maintain.bind(ledger);
  let hasStored = false;
  const spy = vi.spyOn(ledger, 'maintain').mockImplementation(async (work) => {
    const result = await maintain(work);
    const changes = JSON.stringify(await database.read.selectFrom('changes').select('change').execute());
    if (!hasStored && !changes.includes(email)) {
      hasStored = true;
      goOn();
      await queueing;
    }
    return result;
  });
  onTestFinished(() => spy.mockRestore());
  expect((await t.call('DELETE', `/users/${user.id}?erase=true`, { as: admin })).status).toBe(200);
  expect(hasStored).toBe(true);
  expect(await dump(t)).not.toContain(email);
});

it('leaves nothing in the pages of an embedded database that the deletion of the account has freed', async () => {
  const t = await createTestService();
  const [admin, person] = [await t.admin(), await t.user()];
  const agent = await t.agent(person, { permissions });
  const webhook = await t.call('POST', '/webhooks', { as: person, body: { url: 'https://hooks.example/x' } });
  expect(webhook.status).toBe(201);
  const note = `${REASON} `.repeat(20);
  for (let i = 0; i < 60; i++)
    await t.authorize(agent, { action: 'read', resource: 'db:x', arguments: { note: `${i} ${note}` } });
  await t.legate.platform.background.idle();
  expect((await t.call('DELETE', `/users/${person.id}?erase=true`, { as: admin })).status).toBe(200);
  const files = readdirSync(t.database.dir).filter((name) => name.includes('.db'));
  for (const name of files) expect(readFileSync(join(t.database.dir, name), 'latin1')).not.toContain(REASON);
});

it('is continued by a repeated call wherever it stopped, also without any decision', async () => {
  // Each round fails at a later write.
  for (let writes = 0, isDone = false; !isDone; writes++) {
    const t = await createTestService({ config: { ledger: { seal: 'on' } } });
    const [owner, admin, person] = [await t.user(), await t.admin(), await t.admin()];
    const agent = await t.agent(owner, { permissions });
    await t.call('PATCH', `/agents/${agent.id}`, { as: person, ip: IP, body: { name: 'x', reason: REASON } });
    await t.agent(person, { permissions, metadata: { home: REASON } });
    await t.legate.ledger.checkpoint();
    const { ledger } = t.legate.platform;
    const { change, maintain } = ledger;
    let left = writes;
    const failing = <F extends (...args: never[]) => Promise<unknown>>(original: F): F =>
      ((...args: never[]) => (left-- > 0 ? original.apply(ledger, args) : Promise.reject(new Error('killed')))) as F;
    Object.assign(ledger, { change: failing(change), maintain: failing(maintain) });
    const erase = () => t.call('DELETE', `/users/${person.id}?erase=true`, { as: admin });
    isDone = (await erase()).status === 200;
    Object.assign(ledger, { change, maintain });
    if (!isDone) expect([writes, (await erase()).status]).toEqual([writes, 200]);
    for (const secret of [IP, REASON]) expect([writes, (await dump(t)).includes(secret)]).toEqual([writes, false]);
    await t.legate.close();
  }
});
