import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { newId } from '../../kernel/ids.ts';
import { newDelivery } from './dispatcher.ts';
import { webhooks } from './index.ts';

let t: TestService;
let owner: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
});

const make = (as = owner) =>
  t.call('POST', '/webhooks', { as, body: { url: 'https://hooks.example/in', types: ['agent.created'] } });
/** Inserts deliveries of a webhook that ended, or wait, since the given number of days. */
async function keep(
  webhook: Json,
  states: readonly (readonly ['pending' | 'delivered' | 'dropped', number])[],
): Promise<void> {
  const rows = states.map(([status, days]) => {
    const at = t.clock.now() - days * DAY_MS;
    return { ...newDelivery(at, webhook.id, newId('event', at), 'agent.created', '{}'), status };
  });
  await t.legate.platform.database.write.insertInto('webhook_deliveries').values(rows).execute();
}
const deliveries = (webhook: Json, query = '') =>
  t.call('GET', `/webhooks/${webhook.id}/deliveries${query}`, { as: owner });

describe('POST /webhooks', () => {
  it('422 beyond fifty per owner, exactly, under concurrency', async () => {
    const user = await t.user();
    const answers = await Promise.all(Array.from({ length: 60 }, () => make(user)));
    expect(answers.filter((a) => a.status === 201).length).toBe(50);
    expect(new Set(answers.filter((a) => a.status !== 201).map((a) => `${a.status} ${a.body.error.code}`))).toEqual(
      new Set(['422 WEBHOOK_LIMIT_EXCEEDED']),
    );
    const first = (await t.call('GET', '/webhooks?limit=1', { as: user })).body[0];
    expect((await t.call('DELETE', `/webhooks/${first.id}`, { as: user })).status).toBe(204);
    expect([(await make(user)).status, (await make(user)).status]).toEqual([201, 422]);
  });
});

describe('GET /webhooks/:id/deliveries', () => {
  it('lists newest first, by status and page', async () => {
    const webhook = (await make()).body;
    await keep(webhook, [
      ['delivered', 3],
      ['dropped', 2],
      ['dropped', 1],
    ]);
    await t.call('PATCH', `/webhooks/${webhook.id}`, { as: owner, body: { enabled: false } });
    const all = (await deliveries(webhook)).body;
    expect(all.map((d: Json) => d.status)).toEqual(['dropped', 'dropped', 'delivered']);
    expect((await deliveries(webhook, '?status=dropped')).body).toEqual(all.slice(0, 2));
    const page = await deliveries(webhook, '?limit=2');
    const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? '';
    expect([...page.body, ...(await t.call('GET', next, { as: owner })).body]).toEqual(all);
    expect((await deliveries(webhook, '?status=lost')).body.error.details.issues).toMatchObject([{ path: 'status' }]);
  });

  it('a message that waits for an hour for a failing receiver is dropped and can be redelivered', async () => {
    const [failing, sound] = [(await make()).body, (await make()).body];
    const db = t.legate.platform.database.write;
    const later = t.clock.now() + 30_000;
    for (const [webhook, failures] of [
      [failing, 20],
      [sound, 19],
    ] as const) {
      await db.updateTable('webhooks').set({ failures, paused_until: later }).where('id', '=', webhook.id).execute();
      await keep(webhook, [
        ['pending', 31],
        ['pending', 61 / 1440],
        ['pending', 59 / 1440],
      ]);
    }
    await webhooks.upkeep?.(t.legate.platform);
    const seen = async (webhook: Json): Promise<string[]> =>
      (await deliveries(webhook)).body.map((d: Json) => `${d.status} ${d.lastError}`);
    expect([await seen(failing), await seen(sound)]).toEqual([
      ['pending null', 'dropped overdue', 'dropped overdue'],
      ['pending null', 'pending null', 'pending null'],
    ]);
    const [dropped] = (await deliveries(failing, '?status=dropped')).body;
    expect((await t.call('POST', `/webhooks/deliveries/${dropped.id}/redeliver`, { as: owner })).body).toMatchObject({
      status: 'pending',
      attempts: 0,
    });
    await webhooks.upkeep?.(t.legate.platform);
    expect(await seen(failing)).toEqual(['pending null', 'pending overdue', 'dropped overdue']);
  });

  it('keeps delivered messages for a week, dropped ones for thirty days, and waiting ones until they end', async () => {
    const webhook = (await make()).body;
    await t.call('PATCH', `/webhooks/${webhook.id}`, { as: owner, body: { enabled: false } });
    await keep(webhook, [
      ['delivered', 7.1],
      ['delivered', 6.9],
      ['dropped', 30.1],
      ['dropped', 29.9],
      ['pending', 400],
    ]);
    await webhooks.upkeep?.(t.legate.platform);
    const left = (await deliveries(webhook)).body.map(
      (d: Json) => `${d.status} ${Math.round(((t.clock.now() - Date.parse(d.createdAt)) / DAY_MS) * 10) / 10}`,
    );
    expect(left).toEqual(['delivered 6.9', 'dropped 29.9', 'pending 400']);
  });
});
