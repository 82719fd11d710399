import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook as Verifier } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createTestService,
  dialect,
  FakeClock,
  type Json,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { dispatcherOf } from './dispatcher.ts';
import { webhooks } from './index.ts';

interface Received {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

let t: TestService;
let owner: TestUser;
let stranger: TestUser;
let receiver: Server;
let base: string;
let received: Received[] = [];
/** What a path answers; 204 when nothing is said. */
const answers = new Map<string, (req: IncomingMessage, res: ServerResponse) => void>();

beforeAll(async () => {
  receiver = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      received.push({
        path: req.url ?? '',
        headers: req.headers as Record<string, string>,
        body: Buffer.concat(chunks).toString(),
      });
      (answers.get(req.url ?? '') ?? ((_, r) => r.writeHead(204).end()))(req, res);
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const clock = new FakeClock();
  // The independent verifier knows no clock but its own.
  clock.set(new Date().toISOString());
  t = await createTestService({ lasting: true, clock, config: { webhooks: { allowPrivateNetworks: true } } });
  owner = await t.user();
  stranger = await t.user();
});
afterAll(() => {
  receiver.closeAllConnections();
  receiver.close();
});
beforeEach(() => {
  received = [];
  // A receiver that stays silent would hold up the deliveries of later tests.
  answers.clear();
});

let paths = 0;
const newPath = (): string => `/hook${++paths}`;
const make = async (o: { as?: TestUser; path?: string; types?: string[] | null } = {}): Promise<Json> => {
  const r = await t.call('POST', '/webhooks', {
    as: o.as ?? owner,
    body: { url: base + (o.path ?? newPath()), ...(o.types === undefined ? {} : { types: o.types }) },
  });
  expect(r.status, r.text).toBe(201);
  return r.body;
};
const settle = (on = t): Promise<void> => dispatcherOf(on.legate.platform).settle();
const at = (path: string): Received[] => received.filter((r) => r.path === path);
const deliveries = async (webhook: Json, query = ''): Promise<Json[]> =>
  (await t.call('GET', `/webhooks/${webhook.id}/deliveries${query}`, { as: owner })).body;
const pathOf = (webhook: Json): string => new URL(webhook.url).pathname;

describe('secrets', () => {
  it('POST /webhooks/:id/rotate: for a day both secrets verify; 409 within it', async () => {
    const webhook = await make({ types: ['agent.created'] });
    const rotated = await t.call('POST', `/webhooks/${webhook.id}/rotate`, { as: owner });
    expect(rotated.status).toBe(200);
    await t.agent(owner);
    await settle();
    const [one] = at(pathOf(webhook)) as [Received];
    for (const secret of [webhook.secret, rotated.body.secret])
      expect(() => new Verifier(secret).verify(one.body, one.headers)).not.toThrow();
    expect((await t.call('POST', `/webhooks/${webhook.id}/rotate`, { as: owner })).body.error.code).toBe(
      'WEBHOOK_ROTATING',
    );
  });
});

describe('filters', () => {
  it('delivers what fits; PATCH changes or removes them; 400 names what is wrong', async () => {
    const agent = await t.agent(owner, { permissions: [{ resource: 'db:*', actions: ['read'] }] });
    const url = base + newPath();
    const filters = { agentId: [agent.id], 'not.result': ['allowed'] };
    const created = await t.call('POST', '/webhooks', { as: owner, body: { url, types: ['audit'], filters } });
    expect([created.status, created.body.filters]).toEqual([201, filters]);
    const webhook = created.body;
    const decide = async (resource: string, by = agent) =>
      (await t.authorize(by, { action: 'read', resource })).body.auditId as string;
    const got = async (): Promise<string[]> => {
      await settle();
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
  it('the event as the stream has it, signed so that standardwebhooks verifies it', async () => {
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
    await settle();
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

  it('Retry-After is honoured', async () => {
    const path = newPath();
    answers.set(path, (_, res) => res.writeHead(429, { 'retry-after': '600' }).end());
    const webhook = await make({ path, types: ['agent.created'] });
    await t.agent(owner);
    await settle();
    const [delivery] = await deliveries(webhook);
    expect(delivery).toMatchObject({ status: 'pending', attempts: 1, lastStatus: 429 });
    expect(Date.parse(delivery.nextAttemptAt) - t.clock.now()).toBe(600_000);
  });

  it('410 disables it until it is enabled again', async () => {
    const path = newPath();
    answers.set(path, (_, res) => res.writeHead(410).end());
    const webhook = await make({ path, types: ['agent.created'] });
    await t.agent(owner);
    await settle();
    expect((await t.call('GET', `/webhooks/${webhook.id}`, { as: owner })).body).toMatchObject({
      enabled: false,
      disabledReason: 'gone',
    });
    await t.agent(owner);
    await settle();
    expect(at(path).length).toBe(1);
    answers.delete(path);
    expect(
      (await t.call('PATCH', `/webhooks/${webhook.id}`, { as: owner, body: { enabled: true } })).body,
    ).toMatchObject({ enabled: true, disabledReason: null });
    await t.agent(owner);
    await settle();
    expect(at(path).length).toBe(2);
  });

  it('a dead endpoint does not hold the others up', async () => {
    const dead = newPath();
    answers.set(dead, () => {});
    await make({ path: dead, types: ['agent.created'] });
    const living = await make({ types: ['agent.created'] });
    for (let i = 0; i < 20; i++) await t.agent(owner);
    await dispatcherOf(t.legate.platform).run();
    const deadline = performance.now() + 5000;
    while (at(pathOf(living)).length < 20 && performance.now() < deadline) {
      await dispatcherOf(t.legate.platform).run();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(at(pathOf(living)).length).toBe(20);
    expect(at(dead).length).toBeLessThanOrEqual(5);
    answers.set(dead, (_, res) => res.writeHead(204).end());
    receiver.closeAllConnections();
    await settle();
  });

  it('an admin gets everything, and only as long as they are one', async () => {
    const admin = await t.admin();
    await t.admin();
    const webhook = await make({ as: admin, types: ['agent.created'] });
    const seen = await t.agent(stranger);
    await settle();
    expect(at(pathOf(webhook)).map((r) => JSON.parse(r.body).agentId)).toEqual([seen.id]);
    await t.call('PATCH', `/users/${admin.id}`, { as: admin, body: { role: 'user' } });
    await t.agent(stranger);
    await settle();
    expect(at(pathOf(webhook)).length).toBe(1);
  });

  it('an agent of an admin has delivered what its owner owns, also through a webhook that got everything', async () => {
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
      received = [];
      for (const user of [stranger, admin]) await t.agent(user, { name: user.id });
      await settle();
      return received
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
    // Both processes hold the same secrets.json, as instances of one service do.
    Object.assign(second.legate.platform, { secrets: t.legate.platform.secrets });
    // On one SQLite file two services of one process would wait for each other.
    if (dialect === 'postgres') await Promise.all([settle(), settle(second), settle(), settle(second)]);
    else await settle(second);
    await settle();
    expect(
      at(path)
        .map((r) => JSON.parse(r.body).agentId)
        .sort(),
    ).toEqual(agents.map((a) => a.id).sort());
    expect((await deliveries(webhook)).every((d) => d.status === 'delivered')).toBe(true);
  });
});

describe('receivers that are slow, dead or new', () => {
  it('an attempt of a process that died is repeated when its lease has not been renewed for 6 s', async () => {
    const webhook = await make({ types: ['agent.created'] });
    await t.agent(owner);
    const dispatcher = dispatcherOf(t.legate.platform);
    answers.set(pathOf(webhook), () => {});
    await dispatcher.run();
    await vi.waitUntil(() => at(pathOf(webhook)).length === 1);
    answers.delete(pathOf(webhook));
    const died = vi.spyOn(dispatcher, 'renew').mockResolvedValue();
    const next = await createTestService({ sameDatabaseAs: t, config: { webhooks: { allowPrivateNetworks: true } } });
    Object.assign(next.legate.platform, { secrets: t.legate.platform.secrets });
    t.clock.advance(5900);
    await settle(next);
    expect(at(pathOf(webhook)).length).toBe(1);
    t.clock.advance(100);
    await settle(next);
    died.mockRestore();
    expect(await deliveries(webhook)).toMatchObject([{ status: 'delivered', attempts: 1 }]);
    // The first one finally fails, which changes nothing.
    receiver.closeAllConnections();
    await settle();
    expect(await deliveries(webhook)).toMatchObject([{ status: 'delivered', attempts: 1 }]);
    expect(at(pathOf(webhook)).length).toBe(2);
  });

  it('a slow attempt is not repeated by another instance, and its failure counts', async () => {
    const webhook = await make({ types: ['agent.created'] });
    await t.agent(owner);
    const dispatcher = dispatcherOf(t.legate.platform);
    let fail = (): void => {};
    answers.set(pathOf(webhook), (_, res) => {
      fail = () => res.writeHead(500).end();
    });
    await dispatcher.run();
    await vi.waitUntil(() => at(pathOf(webhook)).length === 1);
    const next = await createTestService({ sameDatabaseAs: t, config: { webhooks: { allowPrivateNetworks: true } } });
    for (let i = 0; i < 3; i++) {
      t.clock.advance(5000);
      await dispatcher.renew();
      await dispatcherOf(next.legate.platform).run();
    }
    expect(at(pathOf(webhook)).length).toBe(1);
    await next.legate.close();
    // The own process does not repeat it after a pause either.
    t.clock.advance(6000);
    await dispatcher.run();
    expect(at(pathOf(webhook)).length).toBe(1);
    fail();
    await settle();
    expect(await deliveries(webhook)).toMatchObject([{ status: 'pending', attempts: 1, lastStatus: 500 }]);
  });

  it('a redelivery during the last attempt starts again, independent of its result', async () => {
    const path = newPath();
    const webhook = await make({ path, types: ['agent.created'] });
    answers.set(path, (_, res) => res.writeHead(500).end());
    await t.agent(owner);
    await settle();
    const [{ id }] = await deliveries(webhook);
    for (const ms of [5500, 330_000]) {
      t.clock.advance(ms);
      await settle();
    }
    t.clock.advance(1_980_000);
    answers.set(path, () => {});
    await dispatcherOf(t.legate.platform).run();
    await vi.waitUntil(() => at(path).length === 4);
    const enable = (enabled: boolean) => t.call('PATCH', `/webhooks/${webhook.id}`, { as: owner, body: { enabled } });
    await enable(false);
    const waiting = { id, status: 'pending', attempts: 0 };
    expect((await t.call('POST', `/webhooks/deliveries/${id}/redeliver`, { as: owner })).body).toMatchObject(waiting);
    answers.set(path, (_, res) => res.writeHead(204).end());
    receiver.closeAllConnections();
    await settle();
    expect(await deliveries(webhook)).toMatchObject([waiting]);
    await enable(true);
    await settle();
    expect(await deliveries(webhook)).toMatchObject([{ id, status: 'delivered', attempts: 1 }]);
  });

  it('after twenty failures in a row an endpoint gets nothing for 30 s', async () => {
    const [path, user] = [newPath(), await t.user()];
    answers.set(path, (_, res) => res.writeHead(503).end());
    const webhook = await make({ as: user, path, types: ['agent.created'] });
    for (let i = 0; i < 23; i++) await t.agent(user);
    await settle();
    expect(at(path).length).toBe(20);
    t.clock.advance(29_999);
    await settle();
    expect(at(path).length).toBe(20);
    answers.delete(path);
    t.clock.advance(1);
    await settle();
    expect((await t.call('GET', `/webhooks/${webhook.id}/deliveries?status=delivered`, { as: user })).body.length).toBe(
      23,
    );
  });

  it('a secret that cannot be read fails like a receiver does, and nothing is sent unsigned', async () => {
    const webhook = await make({ types: ['agent.created'] });
    await t.legate.platform.database.write
      .updateTable('webhooks')
      .set({ secret: 'gone.AAAA.AAAA' })
      .where('id', '=', webhook.id)
      .execute();
    const r = await t.call('POST', `/webhooks/${webhook.id}/test`, { as: owner });
    expect(r.body).toMatchObject({ status: 'dropped', lastStatus: null, lastError: 'secret_unreadable' });
    expect(at(pathOf(webhook))).toEqual([]);
  });

  it('an endpoint gets only events from after its creation', async () => {
    await make({ types: ['agent.created'] });
    await t.agent(owner);
    t.clock.advance(1);
    const webhook = await make({ types: ['agent.created'] });
    const later = await t.agent(owner);
    await settle();
    expect(at(pathOf(webhook)).map((r) => JSON.parse(r.body).agentId)).toEqual([later.id]);
  });

  it('messages for a deleted user are not sent', async () => {
    const leaver = await t.user();
    const path = newPath();
    answers.set(path, (_, res) => res.writeHead(500).end());
    const webhook = await make({ as: leaver, path, types: ['agent.created'] });
    await t.agent(leaver);
    await settle();
    expect(at(path).length).toBe(1);
    expect((await t.call('DELETE', `/users/${leaver.id}`, { as: await t.admin() })).status).toBe(204);
    t.clock.advance(10_000);
    await settle();
    expect(at(path).length).toBe(1);
    await webhooks.upkeep?.(t.legate.platform);
    await expect(t.legate.webhooks.get(webhook.id)).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
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

  it('409: tests of silent receivers, when five of the owner are under way', async () => {
    const user = await t.user();
    const hooks = [await make({ as: user }), await make({ as: user })] as const;
    for (const hook of hooks) answers.set(pathOf(hook), () => {});
    const test = (n: number, as = user) => t.call('POST', `/webhooks/${hooks[n % 2]?.id}/test`, { as });
    const begun = Array.from({ length: 5 }, (_, i) => test(i));
    await vi.waitUntil(() => received.length === 5);
    expect((await test(0)).body.error.code).toBe('WEBHOOK_BUSY');
    expect((await t.call('POST', `/webhooks/${(await make()).id}/test`, { as: owner })).body.status).toBe('delivered');
    receiver.closeAllConnections();
    expect((await Promise.all(begun)).map((r) => r.body.lastError)).toEqual(Array(5).fill('connection_failed'));
    for (const hook of hooks) answers.delete(pathOf(hook));
    expect((await test(1)).body.status).toBe('delivered');
  });

  it('404 for webhooks and deliveries of others', async () => {
    const webhook = await make({ types: ['agent.created'] });
    await t.agent(owner);
    await settle();
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

it('legate.webhooks does the same', async () => {
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
