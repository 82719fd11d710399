import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { dispatcherOf } from './dispatcher.ts';
import { webhooks } from './index.ts';
import { getDeliveryRow } from './store.ts';

let answer: { status: number; body: string | Buffer } = { status: 200, body: 'ok' };
const received: string[] = [];
const server: Promise<Server> = new Promise((resolve) => {
  const made = createServer((request, response) => {
    received.push(String(request.headers['webhook-id']));
    request.resume().on('end', () => response.writeHead(answer.status).end(answer.body));
  });
  made.listen(0, '127.0.0.1', () => resolve(made));
});
afterAll(async () => (await server).close());

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> =>
  (service ??= createTestService({
    lasting: true,
    config: { webhooks: { allowPrivateNetworks: true, retryDelaysMs: [1000] } },
  }));

async function endpoint(t: TestService, owner: TestUser): Promise<string> {
  const { port } = (await server).address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/in`;
  const r = await t.call('POST', '/webhooks', { as: owner, body: { url, types: ['agent.created'] } });
  expect(r.status).toBe(201);
  return r.body.id;
}
const deliverAll = (t: TestService): Promise<void> => dispatcherOf(t.legate.platform).runUntilIdle();
const deliveries = async (t: TestService, owner: TestUser, id: string): Promise<Json> =>
  (await t.call('GET', `/webhooks/${id}/deliveries`, { as: owner })).body;

describe('GET /webhooks/deliveries/:id', () => {
  it('reports a failing database as such, and not as an unknown delivery', async () => {
    const t = await shared();
    const owner = await t.user();
    const id = await endpoint(t, owner);
    await t.agent(owner);
    await deliverAll(t);
    const [delivery] = await deliveries(t, owner, id);
    const failing = t.legate.platform.database.read.withPlugin({
      transformQuery({ node }) {
        if (JSON.stringify(node).includes('webhooks"')) throw new Error('the connection broke');
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    await expect(getDeliveryRow(failing, { kind: 'all' }, delivery.id)).rejects.toThrow('the connection broke');
  });

  it('shows each attempt with the beginning of its response, and the message', async () => {
    const t = await shared();
    const owner = await t.user();
    const id = await endpoint(t, owner);
    answer = { status: 500, body: `a\u0000${'x'.repeat(3000)}` };
    const agent = await t.agent(owner);
    await deliverAll(t);
    t.clock.advance(60_000);
    answer = { status: 503, body: Buffer.from([0xff, 0x41]) };
    await deliverAll(t);
    const [delivery] = await deliveries(t, owner, id);
    expect(delivery).toMatchObject({ status: 'dropped', attempts: 2 });
    const r = await t.call('GET', `/webhooks/deliveries/${delivery.id}`, { as: owner });
    expect(r.body).toMatchObject({ ...delivery, log: [{ status: 500 }, { status: 503, error: 'answered 503' }] });
    const [first, second] = r.body.log;
    expect([first.answer.length, first.answer.slice(0, 3), second.answer]).toEqual([2048, 'a\ufffdx', '\ufffdA']);
    expect(first.durationMs).toBeGreaterThanOrEqual(0);
    expect(Date.parse(second.at) - Date.parse(first.at)).toBeGreaterThanOrEqual(60_000);
    expect(JSON.parse(r.body.payload)).toMatchObject({ type: 'agent.created', agentId: agent.id });
    for (const as of [await t.user(), agent])
      expect([403, 404]).toContain((await t.call('GET', `/webhooks/deliveries/${delivery.id}`, { as })).status);
    expect((await t.call('GET', '/webhooks/deliveries/whd_x', { as: owner })).status).toBe(404);
    answer = { status: 200, body: 'fine' };
    await t.call('POST', `/webhooks/deliveries/${delivery.id}/redeliver`, { as: owner });
    await deliverAll(t);
    const again = (await t.call('GET', `/webhooks/deliveries/${delivery.id}`, { as: owner })).body;
    expect(again.log.map((a: Json) => [a.status, a.error])).toEqual([
      [500, 'answered 500'],
      [503, 'answered 503'],
      [200, null],
    ]);
    await t.call('DELETE', `/webhooks/${id}`, { as: owner });
    const left = await t.legate.platform.database.read
      .selectFrom('webhook_attempts')
      .select('id')
      .where('delivery_id', '=', delivery.id)
      .execute();
    expect(left).toEqual([]);
  });
});

describe('POST /webhooks/:id/recover', () => {
  it('delivers dropped messages of the time range again, with the same webhook-id', async () => {
    const t = await shared();
    const owner = await t.user();
    const id = await endpoint(t, owner);
    answer = { status: 410, body: '' };
    const start = t.clock.now();
    const fail = async (): Promise<void> => {
      await t.call('PATCH', `/webhooks/${id}`, { as: owner, body: { enabled: true } });
      await t.agent(owner);
      await deliverAll(t);
      t.clock.advance(10_000);
    };
    await fail();
    await fail();
    await fail();
    expect((await deliveries(t, owner, id)).map((d: Json) => d.status)).toEqual(['dropped', 'dropped', 'dropped']);
    await t.call('PATCH', `/webhooks/${id}`, { as: owner, body: { enabled: true } });
    answer = { status: 200, body: '' };
    received.length = 0;
    const iso = (ms: number): string => new Date(ms).toISOString();
    const span = { since: iso(start), until: iso(start + 20_000) };
    const recover = (body: unknown, as: { token: string } = owner) =>
      t.call('POST', `/webhooks/${id}/recover`, { as, body });
    expect((await recover(span, await t.user())).status).toBe(404);
    expect((await recover(span, await t.user({ role: 'auditor' }))).status).toBe(403);
    const r = await recover(span);
    expect([r.status, r.body]).toEqual([200, { recovered: 2, more: false }]);
    await deliverAll(t);
    const after = await deliveries(t, owner, id);
    expect(after.map((d: Json) => d.status)).toEqual(['dropped', 'delivered', 'delivered']);
    expect(received.toSorted()).toEqual([after[1].eventId, after[2].eventId].toSorted());
    expect((await recover(span)).body).toEqual({ recovered: 0, more: false });
    for (const body of [{}, { since: 'x' }, { since: span.until, until: span.since }, { ...span, all: true }])
      expect((await recover(body)).status).toBe(400);
  });

  it('immediately delivers messages that wait for another attempt', async () => {
    const t = await shared();
    const owner = await t.user();
    const id = await endpoint(t, owner);
    const since = new Date(t.clock.now()).toISOString();
    answer = { status: 500, body: '' };
    await t.agent(owner);
    await deliverAll(t);
    expect((await deliveries(t, owner, id)).map((d: Json) => [d.status, d.attempts])).toEqual([['pending', 1]]);
    answer = { status: 200, body: '' };
    const r = await t.call('POST', `/webhooks/${id}/recover`, { as: owner, body: { since } });
    expect(r.body).toEqual({ recovered: 1, more: false });
    await deliverAll(t);
    expect((await deliveries(t, owner, id)).map((d: Json) => d.status)).toEqual(['delivered']);
  });

  it('does not send a failed test message again, which has no retries', async () => {
    const t = await shared();
    const owner = await t.user();
    const id = await endpoint(t, owner);
    const since = new Date(t.clock.now()).toISOString();
    answer = { status: 500, body: '' };
    expect((await t.call('POST', `/webhooks/${id}/test`, { as: owner })).body.status).toBe('dropped');
    await t.agent(owner);
    await deliverAll(t);
    answer = { status: 200, body: '' };
    received.length = 0;
    const r = await t.call('POST', `/webhooks/${id}/recover`, { as: owner, body: { since } });
    expect(r.body).toEqual({ recovered: 1, more: false });
    await deliverAll(t);
    const after = await deliveries(t, owner, id);
    expect(after.map((d: Json) => [d.type, d.status])).toEqual([
      ['agent.created', 'delivered'],
      ['webhook.test', 'dropped'],
    ]);
    expect(received).toEqual([after[0].eventId]);
  });
});

describe('a message that waited for months while its webhook was disabled', () => {
  it.each([
    [200, 'delivered'],
    [410, 'dropped'],
  ])('is kept after its last attempt, which the receiver answered with %i', async (status, ended) => {
    const t = await shared();
    const owner = await t.user();
    const id = await endpoint(t, owner);
    const enable = (enabled: boolean) => t.call('PATCH', `/webhooks/${id}`, { as: owner, body: { enabled } });
    answer = { status: 500, body: '' };
    await t.agent(owner);
    await deliverAll(t);
    expect((await enable(false)).status).toBe(200);
    t.clock.advance(40 * DAY_MS);
    answer = { status, body: '' };
    expect((await enable(true)).status).toBe(200);
    await deliverAll(t);
    await webhooks.upkeep?.(t.legate.platform);
    expect(await deliveries(t, owner, id)).toMatchObject([{ status: ended, attempts: 2 }]);
  });
});
