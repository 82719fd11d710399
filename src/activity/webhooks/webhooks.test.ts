import { Webhook as Verifier } from 'standardwebhooks';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  createTestService,
  dialect,
  type Json,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { type Received, webhookReceiver } from '../../../test/support/webhook-receiver.ts';
import { dispatcherOf } from './dispatcher.ts';
import { webhooks } from './index.ts';

const receiving = webhookReceiver();
const { answers, newPath, make, deliverAll, at, deliveries, pathOf } = receiving;
let t: TestService;
let owner: TestUser;
let stranger: TestUser;
let base: string;
beforeAll(() => {
  ({ t, owner, stranger, base } = receiving);
});

describe('secrets', () => {
  it('POST /webhooks/:id/rotate: both secrets verify for a day; 409 within it', async () => {
    const webhook = await make({ types: ['agent.created'] });
    const rotated = await t.call('POST', `/webhooks/${webhook.id}/rotate`, { as: owner });
    expect(rotated.status).toBe(200);
    await t.agent(owner);
    await deliverAll();
    const [one] = at(pathOf(webhook)) as [Received];
    for (const secret of [webhook.secret, rotated.body.secret])
      expect(() => new Verifier(secret).verify(one.body, one.headers)).not.toThrow();
    expect((await t.call('POST', `/webhooks/${webhook.id}/rotate`, { as: owner })).body.error.code).toBe(
      'WEBHOOK_ROTATING',
    );
  });
});

describe('types', () => {
  it('are stored once each, in the given order', async () => {
    const url = base + newPath();
    const twice = ['cost.recorded', 'audit', 'cost.recorded', 'audit'];
    const created = await t.call('POST', '/webhooks', { as: owner, body: { url, types: twice } });
    expect([created.status, created.body.types]).toEqual([201, ['cost.recorded', 'audit']]);
    const path = `/webhooks/${created.body.id}`;
    const patch = (types: unknown, as = owner) => t.call('PATCH', path, { as, body: { types } });
    expect((await patch(['agent.created', 'agent.created'])).body.types).toEqual(['agent.created']);
    expect((await patch(twice, stranger)).status).toBe(404);
    for (const bad of [[], ['audit', 'unknown'], Array(51).fill('audit'), 'audit'])
      expect((await patch(bad)).status).toBe(400);
    expect((await t.call('GET', path, { as: owner })).body.types).toEqual(['agent.created']);
  });
});

describe('filters', () => {
  it('deliver only matching events; PATCH changes or removes them; 400 names the problem', async () => {
    const agent = await t.agent(owner, { permissions: [{ resource: 'db:*', actions: ['read'] }] });
    const url = base + newPath();
    const filters = { agentId: [agent.id], 'not.result': ['allowed'] };
    const created = await t.call('POST', '/webhooks', { as: owner, body: { url, types: ['audit'], filters } });
    expect([created.status, created.body.filters]).toEqual([201, filters]);
    const webhook = created.body;
    const decide = async (resource: string, by = agent) =>
      (await t.authorize(by, { action: 'read', resource })).body.auditId as string;
    const got = async (): Promise<string[]> => {
      await deliverAll();
      return at(pathOf(webhook)).map((r) => JSON.parse(r.body).data.id);
    };
    await decide('db:1');
    const denied = await decide('x');
    await decide('x', await t.agent(owner));
    expect(await got()).toEqual([denied]);

    const patch = (body: Json) => t.call('PATCH', `/webhooks/${webhook.id}`, { as: owner, body });
    expect((await patch({ filters: { resource: ['db:*'], agentId: [agent.id] } })).status).toBe(200);
    const second = await decide('db:2');
    await decide('x');
    expect(await got()).toEqual([denied, second]);
    expect((await patch({ filters: null })).body.filters).toBeNull();
    const third = await decide('x');
    expect(await got()).toEqual([denied, second, third]);

    for (const [wrong, path] of [
      [{}, 'filters'],
      [{ unknown: ['x'] }, 'filters.unknown'],
      [{ ids: ['x'] }, 'filters.ids'],
      [{ result: ['nonsense'] }, 'filters.result.0'],
      [{ agentId: [] }, 'filters.agentId'],
      [{ ip: ['nonsense'] }, 'filters.ip.0'],
    ] as const) {
      const answer = await patch({ filters: wrong });
      expect([answer.status, answer.body.error.details.issues[0].path]).toEqual([400, path]);
    }
  });
});

describe('delivery', () => {
  it('sends the event as the stream does, signed so that standardwebhooks verifies it', async () => {
    const webhook = await make({ types: ['agent.created', 'audit'] });
    expect(webhook).toMatchObject({
      id: expect.stringMatching(/^whk_/),
      secret: expect.stringMatching(/^whsec_/),
      enabled: true,
      types: ['agent.created', 'audit'],
      ownerId: owner.id,
    });
    const agent = await t.agent(owner);
    const { auditId } = (await t.authorize(agent, { action: 'read', resource: 'x' })).body;
    await t.call('POST', `/agents/${agent.id}/rotate`, { as: owner });
    await t.agent(stranger);
    await deliverAll();
    const got = at(pathOf(webhook));
    const messages = got.map((r) => new Verifier(webhook.secret).verify(r.body, r.headers) as Json);
    expect(messages.map((m) => m.type).sort()).toEqual(['agent.created', 'audit']);
    const audit = messages.find((m) => m.type === 'audit');
    expect(audit).toMatchObject({
      id: `evt_${auditId.slice(4)}`,
      agentId: agent.id,
      userId: owner.id,
      data: { id: auditId, result: 'denied' },
    });
    expect(got.map((r) => r.headers['webhook-id']).sort()).toEqual(messages.map((m) => m.id).sort());
    expect((await t.call('GET', `/events?types=audit&agentId=${agent.id}`, { as: owner })).body).toEqual([audit]);
    expect(await deliveries(webhook)).toMatchObject([
      { status: 'delivered', attempts: 1, lastStatus: 204, nextAttemptAt: null },
      { status: 'delivered', attempts: 1 },
    ]);
    const row = await t.legate.platform.database.read
      .selectFrom('webhooks')
      .selectAll()
      .where('id', '=', webhook.id)
      .executeTakeFirstOrThrow();
    expect(JSON.stringify(row)).not.toContain(webhook.secret.slice(6));
    expect((await t.call('GET', `/webhooks/${webhook.id}`, { as: owner })).body.secret).toBeUndefined();
  });

  it('honours Retry-After', async () => {
    const path = newPath();
    answers.set(path, (_, res) => res.writeHead(429, { 'retry-after': '600' }).end());
    const webhook = await make({ path, types: ['agent.created'] });
    await t.agent(owner);
    await deliverAll();
    const [delivery] = await deliveries(webhook);
    expect(delivery).toMatchObject({ status: 'pending', attempts: 1, lastStatus: 429 });
    expect(Date.parse(delivery.nextAttemptAt) - t.clock.now()).toBe(600_000);
  });

  it('410 disables the webhook until it is enabled again', async () => {
    const path = newPath();
    answers.set(path, (_, res) => res.writeHead(410).end());
    const webhook = await make({ path, types: ['agent.created'] });
    await t.agent(owner);
    await deliverAll();
    expect((await t.call('GET', `/webhooks/${webhook.id}`, { as: owner })).body).toMatchObject({
      enabled: false,
      disabledReason: 'gone',
    });
    await t.agent(owner);
    await deliverAll();
    expect(at(path).length).toBe(1);
    answers.delete(path);
    expect(
      (await t.call('PATCH', `/webhooks/${webhook.id}`, { as: owner, body: { enabled: true } })).body,
    ).toMatchObject({ enabled: true, disabledReason: null });
    await t.agent(owner);
    await deliverAll();
    expect(at(path).length).toBe(2);
  });

  it('an unreachable endpoint does not delay the others', async () => {
    const dead = newPath();
    let timedOut = 0;
    answers.set(dead, (_, res) => void res.once('close', () => timedOut++));
    await make({ path: dead, types: ['agent.created'] });
    const living = await make({ types: ['agent.created'] });
    for (let i = 0; i < 20; i++) await t.agent(owner);
    while (at(pathOf(living)).length < 20 && timedOut === 0) {
      await dispatcherOf(t.legate.platform).run();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect([at(pathOf(living)).length, timedOut]).toEqual([20, 0]);
    expect(at(dead).length).toBeLessThanOrEqual(5);
    answers.set(dead, (_, res) => res.writeHead(204).end());
    receiving.server.closeAllConnections();
    await deliverAll();
  });

  it('an admin gets all events, but only while they have the role', async () => {
    const admin = await t.admin();
    await t.admin();
    const webhook = await make({ as: admin, types: ['agent.created'] });
    const seen = await t.agent(stranger);
    await deliverAll();
    expect(at(pathOf(webhook)).map((r) => JSON.parse(r.body).agentId)).toEqual([seen.id]);
    await t.call('PATCH', `/users/${admin.id}`, { as: admin, body: { role: 'user' } });
    await t.agent(stranger);
    await deliverAll();
    expect(at(pathOf(webhook)).length).toBe(1);
  });

  it("a webhook of an admin's agent gets only events about what its owner owns, even if it once got all", async () => {
    const admin = await t.admin();
    const agent = await t.agent(admin, {
      permissions: [
        { resource: 'legate:webhooks', actions: ['read', 'write'] },
        { resource: 'legate:events', actions: ['read'] },
      ],
    });
    const types = ['agent.created'];
    t.clock.advance(1);
    expect(await make({ as: { ...admin, token: agent.token }, path: '/of-agent', types })).toMatchObject({
      ownerId: admin.id,
    });
    const everything = await make({ as: admin, path: '/of-admin', types });
    const got = async (): Promise<string[]> => {
      receiving.received.length = 0;
      for (const user of [stranger, admin]) await t.agent(user, { name: user.id });
      await deliverAll();
      return receiving.received
        .filter((r) => !r.path.startsWith('/hook'))
        .map((r) => `${r.path} ${JSON.parse(r.body).data.ownerId === admin.id ? 'own' : 'all'}`)
        .sort();
    };
    expect(await got()).toEqual(['/of-admin all', '/of-admin own', '/of-agent own']);
    await t.call('PATCH', `/webhooks/${everything.id}`, { as: agent, body: { url: `${base}/turned` } });
    expect(await got()).toEqual(['/of-agent own', '/turned own']);
    await t.call('PATCH', `/webhooks/${everything.id}`, { as: admin, body: { url: `${base}/back` } });
    expect(await got()).toEqual(['/back all', '/back own', '/of-agent own']);
    await t.call('DELETE', `/webhooks/${everything.id}`, { as: admin });
  });

  it('an event from before a stop is delivered once afterwards, by any instance', async () => {
    const path = newPath();
    const webhook = await make({ path, types: ['agent.created'] });
    const agents = await Promise.all(Array.from({ length: 12 }, () => t.agent(owner)));
    const second = await createTestService({ sameDatabaseAs: t, config: { webhooks: { allowPrivateNetworks: true } } });
    // Both processes use the same secrets.json, as instances of one service do.
    Object.assign(second.legate.platform, { secrets: t.legate.platform.secrets });
    // With one SQLite file, two services of one process would block each other.
    if (dialect === 'postgres') await Promise.all([deliverAll(), deliverAll(second), deliverAll(), deliverAll(second)]);
    else await deliverAll(second);
    await deliverAll();
    expect(
      at(path)
        .map((r) => JSON.parse(r.body).agentId)
        .sort(),
    ).toEqual(agents.map((a) => a.id).sort());
    expect((await deliveries(webhook)).every((d) => d.status === 'delivered')).toBe(true);
  });
});

describe('POST /webhooks/:id/test', () => {
  it('200: sends once and immediately, and returns the result', async () => {
    const path = newPath();
    const webhook = await make({ path });
    const r = await t.call('POST', `/webhooks/${webhook.id}/test`, { as: owner });
    expect(r.body).toMatchObject({ type: 'webhook.test', status: 'delivered', attempts: 1 });
    expect(JSON.parse(at(path)[0]?.body ?? '')).toMatchObject({
      type: 'webhook.test',
      data: { webhookId: webhook.id },
    });
    answers.set(path, (_, res) => res.writeHead(500).end());
    expect((await t.call('POST', `/webhooks/${webhook.id}/test`, { as: owner })).body).toMatchObject({
      status: 'dropped',
      lastStatus: 500,
    });
  });
});

describe('refusals', () => {
  it('400 for unknown types and for a given secret', async () => {
    const post = (more: Json) => t.call('POST', '/webhooks', { as: owner, body: { url: base, ...more } });
    expect((await post({ types: ['agent.eaten'] })).body.error.details.issues[0].path).toMatch(/^types/);
    for (const more of [{ secret: 'mine' }, { url: 7 }, { url: `${base}/${'x'.repeat(2048)}` }])
      expect((await post(more)).body.error.details.issues).toMatchObject([{ path: Object.keys(more)[0] }]);
  });

  it('409 for a test of a silent receiver while five tests of the owner are in progress', async () => {
    const user = await t.user();
    const hooks = [await make({ as: user }), await make({ as: user })] as const;
    for (const hook of hooks) answers.set(pathOf(hook), () => {});
    const test = (n: number, as = user) => t.call('POST', `/webhooks/${hooks[n % 2]?.id}/test`, { as });
    const begun = Array.from({ length: 5 }, (_, i) => test(i));
    await until(() => receiving.received.length === 5);
    expect((await test(0)).body.error.code).toBe('WEBHOOK_BUSY');
    expect((await t.call('POST', `/webhooks/${(await make()).id}/test`, { as: owner })).body.status).toBe('delivered');
    receiving.server.closeAllConnections();
    expect((await Promise.all(begun)).map((r) => r.body.lastError)).toEqual(Array(5).fill('connection_failed'));
    for (const hook of hooks) answers.delete(pathOf(hook));
    expect((await test(1)).body.status).toBe('delivered');
  });

  it('404 for webhooks and deliveries of others', async () => {
    const webhook = await make({ types: ['agent.created'] });
    await t.agent(owner);
    await deliverAll();
    const [delivery] = await deliveries(webhook);
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', {}],
      ['DELETE', ''],
      ['POST', '/test'],
      ['POST', '/rotate'],
      ['GET', '/deliveries'],
    ] as const)
      expect(
        (await t.call(method, `/webhooks/${webhook.id}${path}`, { as: stranger, ...(body ? { body } : {}) })).body.error
          .code,
      ).toBe('WEBHOOK_NOT_FOUND');
    expect(
      (await t.call('POST', `/webhooks/deliveries/${delivery.id}/redeliver`, { as: stranger })).body.error.code,
    ).toBe('DELIVERY_NOT_FOUND');
    expect((await t.call('GET', '/webhooks', { as: stranger })).body).toEqual([]);
    expect((await t.call('DELETE', `/webhooks/${webhook.id}`, { as: owner })).status).toBe(204);
    expect((await t.call('GET', `/webhooks/${webhook.id}`, { as: owner })).status).toBe(404);
  });
});

it('legate.webhooks provides the same operations', async () => {
  const { webhooks } = t.legate;
  const made = await webhooks.create({ ownerId: owner.id, url: `${base}/api` });
  expect(await webhooks.get(made.id)).toMatchObject({ id: made.id, ownerId: owner.id });
  expect((await webhooks.test(made.id)).status).toBe('delivered');
  expect((await webhooks.update(made.id, { enabled: false })).enabled).toBe(false);
  expect((await webhooks.deliveries(made.id)).length).toBe(1);
  await webhooks.delete(made.id);
  await expect(webhooks.get(made.id)).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
});

it('legate.webhooks.create: 422 for an unknown owner, unless external owners are allowed', async () => {
  const input = { ownerId: 'their-user-7', url: `${base}/theirs` };
  await expect(t.legate.webhooks.create(input)).rejects.toMatchObject({ status: 422, code: 'OWNER_NOT_FOUND' });
  const open = await createTestService({
    config: { users: { allowExternalOwners: true }, webhooks: { allowPrivateNetworks: true } },
  });
  const { id } = await open.legate.webhooks.create(input);
  await webhooks.upkeep?.(open.legate.platform);
  expect(await open.legate.webhooks.get(id)).toMatchObject({ ownerId: 'their-user-7', enabled: true });
});
