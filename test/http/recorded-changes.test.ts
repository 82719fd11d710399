import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dispatcherOf } from '../../src/activity/webhooks/dispatcher.ts';
import { newId } from '../../src/kernel/ids.ts';
import { secretHash } from '../../src/kernel/secrets.ts';
import { deleteStale } from '../../src/oauth/clients/delete-client.ts';
import { register } from '../support/oauth.ts';
import { createTestService, type Json, type TestService } from '../support/service.ts';

let t: TestService;
let receiver: Server;
let base = '';
/** The messages that arrived, by path. The receiver at /gone answers 410. */
const received = new Map<string, Json[]>();

beforeAll(async () => {
  receiver = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => {
      const path = req.url ?? '';
      received.set(path, [...(received.get(path) ?? []), JSON.parse(Buffer.concat(parts).toString())]);
      res.writeHead(path === '/gone' ? 410 : 204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  t = await createTestService({
    lasting: true,
    config: {
      webhooks: { allowPrivateNetworks: true },
      users: { allowExternalOwners: true },
      mcp: { unusedClients: 2 },
      audit: { redact: ['ticketOffice'] },
    },
    authenticate: (request) => {
      const userId = request.headers.get('x-user');
      return userId === null ? null : { userId, tenantId: null };
    },
  });
});
afterAll(() => {
  receiver.closeAllConnections();
  receiver.close();
});

interface Recorded {
  readonly data: Json;
  readonly actor: Json;
  readonly before?: Json;
  readonly after?: Json;
}
async function eventsOf(type: string, about: (data: Json) => boolean): Promise<Recorded[]> {
  const rows = await t.legate.platform.database.read
    .selectFrom('stream_events')
    .select(['data', 'change'])
    .where('type', '=', type)
    .orderBy('seq')
    .execute();
  return rows
    .map(({ data, change }) => ({ data: JSON.parse(data ?? 'null'), ...JSON.parse(change ?? '{}') }) as Recorded)
    .filter(({ data }) => about(data));
}
const SYSTEM = { kind: 'system', id: 'system' };
const external = (userId: string) => ({ headers: { 'x-user': userId } });

describe('the user record of a person of the embedding application', () => {
  const created = (id: string) => eventsOf('user.created', ({ userId }) => userId === id);
  const after = { email: null, name: null, role: 'user', tenantId: null };

  it.each<[string, string, string, Json | undefined]>([
    ['reading their session', 'GET', '/auth/session', undefined],
    ['an API token', 'POST', '/api-tokens', { name: 'ci' }],
    ['an agent', 'POST', '/agents', { name: 'a', type: 'service' }],
    ['a webhook', 'POST', '/webhooks', { url: 'https://example.com/' }],
  ])('is recorded once when it is created by %s', async (_, method, path, body) => {
    const id = `ext|${path}`;
    const request = {
      ...external(id),
      ...(body ? { body: path === '/agents' ? { ...body, ownerId: id } : body } : {}),
    };
    for (let i = 0; i < 2; i++) expect((await t.call(method, path, request)).status).toBeLessThan(300);
    expect(await created(id)).toEqual([
      {
        data: { userId: id, role: 'user' },
        actor: expect.objectContaining({ kind: 'user', id }),
        after: expect.objectContaining(after),
      },
    ]);
  });

  it('has as actor the administrator who names an unknown owner', async () => {
    const admin = await t.admin();
    const body = { ownerId: 'ext|named', name: 'a', type: 'service' };
    expect((await t.call('POST', '/agents', { as: admin, body })).status).toBe(201);
    expect(await created('ext|named')).toMatchObject([{ actor: { userId: admin.id }, after }]);
  });
});

describe('a webhook', () => {
  const make = async (path: string, types: string[]): Promise<Json> =>
    (await t.call('POST', '/webhooks', { as: await t.user(), body: { url: base + path, types } })).body;

  it('that is disabled because its receiver answers 410 is recorded as changed by the system', async () => {
    const owner = await t.user();
    const body = { url: `${base}/gone`, types: ['agent.created'] };
    const { id } = (await t.call('POST', '/webhooks', { as: owner, body })).body;
    await t.agent(owner);
    await t.agent(owner);
    await dispatcherOf(t.legate.platform).runUntilIdle();
    expect(await eventsOf('webhook.updated', ({ webhookId }) => webhookId === id)).toEqual([
      {
        data: { webhookId: id, changed: ['enabled'] },
        actor: SYSTEM,
        before: { enabled: true, disabledReason: null },
        after: { enabled: false, disabledReason: 'gone' },
      },
    ]);
  });

  it('of a person whose account is deleted ends in the same change, by the same administrator', async () => {
    const { id, ownerId } = await make('/deleted', ['agent.created']);
    const admin = await t.admin();
    const { events } = (await t.call('DELETE', `/users/${ownerId}?preview=true`, { as: admin })).body;
    expect(events).toContainEqual(expect.objectContaining({ type: 'webhook.deleted', data: { webhookId: id } }));
    expect((await t.call('DELETE', `/users/${ownerId}`, { as: admin })).status).toBeLessThan(300);
    expect(await eventsOf('webhook.deleted', ({ webhookId }) => webhookId === id)).toEqual([
      {
        data: { webhookId: id },
        actor: expect.objectContaining({ kind: 'apiToken', userId: admin.id }),
        before: expect.objectContaining({ origin: base }),
      },
    ]);
  });

  it('receives events about other webhooks if its types name them, but not about its own creation', async () => {
    const owner = await t.user();
    const create = async (path: string): Promise<string> =>
      (await t.call('POST', '/webhooks', { as: owner, body: { url: base + path, types: ['webhook.created'] } })).body
        .id;
    await create('/first');
    t.clock.advance(1);
    const second = await create('/second');
    await dispatcherOf(t.legate.platform).runUntilIdle();
    expect(received.get('/first')).toMatchObject([{ type: 'webhook.created', data: { webhookId: second } }]);
    expect(received.get('/second')).toBeUndefined();
  });
});

describe('clients that were never used', () => {
  const deleted = (id: string) => eventsOf('client.deleted', ({ clientId }) => clientId === id);

  it('are recorded as deleted by the system, whether for their number or their age', async () => {
    const [oldest, second, third] = [await register(t), await register(t), await register(t)];
    const event = (client: Json) => [
      {
        data: { clientId: client.client_id, reason: 'unused' },
        actor: SYSTEM,
        before: expect.objectContaining({ clientId: client.client_id, origin: 'self' }),
      },
    ];
    expect(await deleted(oldest.client_id)).toEqual(event(oldest));
    // The actor of the registration itself is its sender.
    const [made] = await eventsOf('client.created', ({ clientId }) => clientId === third.client_id);
    expect(made?.actor.kind).not.toBe('system');
    t.clock.advance(24 * 3_600_000 + 1);
    await deleteStale(t.legate.platform);
    for (const client of [second, third]) expect(await deleted(client.client_id)).toEqual(event(client));
  });
});

describe('an agent', () => {
  const metadata = { team: 'ops', password: 'hunter2', ticketOffice: 'north' };
  const redacted = { team: 'ops', password: '[REDACTED]', ticketOffice: '[REDACTED]' };

  it('is recorded completely when it is created and when it is changed, with redacted metadata', async () => {
    const owner = await t.user();
    const permissions = [{ resource: 'db:*', actions: ['read'], constraints: { maxCallsPerHour: 5 } }];
    const body = { ownerId: owner.id, name: 'a', type: 'service', permissions, metadata };
    const { id, token } = (await t.call('POST', '/agents', { as: owner, body })).body;
    const [made] = await eventsOf('agent.created', ({ agentId }) => agentId === id);
    expect(made?.after).toEqual({
      ownerId: owner.id,
      name: 'a',
      type: 'service',
      permissions,
      expiresAt: null,
      metadata: redacted,
    });
    const later = { ...metadata, team: 'dev' };
    expect((await t.call('PATCH', `/agents/${id}`, { as: owner, body: { metadata: later } })).status).toBe(200);
    const [changed] = await eventsOf('agent.updated', ({ agentId }) => agentId === id);
    expect([changed?.before, changed?.after]).toEqual([
      { metadata: redacted },
      { metadata: { ...redacted, team: 'dev' } },
    ]);
    expect(JSON.stringify([made, changed])).not.toMatch(new RegExp(`${token}|hunter2|north`));
  });
});

describe('session.ended', () => {
  it('names the first hundred sessions of one change in one event each, and the rest in lists', async () => {
    const owner = await t.user();
    const { clock, database } = t.legate.platform;
    const now = clock.now();
    const rows = Array.from({ length: 103 }, (_, i) => ({
      id: newId('session', now),
      user_id: owner.id,
      token_hash: secretHash(`${owner.id} ${i}`),
      created_at: now,
      last_used_at: now,
      expires_at: now + 3_600_000,
      absolute_expires_at: now + 3_600_000,
      auth_time: now,
      ip: null,
      user_agent: null,
    }));
    await database.write.insertInto('sessions').values(rows).execute();
    const admin = await t.admin();
    const ended = await t.call('DELETE', `/users/${owner.id}/sessions`, { as: admin });
    expect(ended.status).toBeLessThan(300);
    const events = await eventsOf('session.ended', ({ userId }) => userId === owner.id);
    const single = events.filter(({ data }) => typeof data.sessionId === 'string');
    const lists = events.filter(({ data }) => Array.isArray(data.sessionIds));
    expect([single.length, lists.length]).toEqual([100, 1]);
    const named = [...single.map(({ data }) => data.sessionId), ...lists.flatMap(({ data }) => data.sessionIds)];
    expect(new Set(named).size).toBe(named.length);
    expect(named).toEqual(expect.arrayContaining(rows.map(({ id }) => id)));
    for (const { actor } of events) expect(actor).toMatchObject({ userId: admin.id });
  });
});
