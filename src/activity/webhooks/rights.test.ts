import { beforeAll, describe, expect, it } from 'vitest';
import type { Json, TestService, TestUser } from '../../../test/support/service.ts';
import { webhookReceiver } from '../../../test/support/webhook-receiver.ts';

const receiving = webhookReceiver();
const { answers, newPath, make, deliverAll, at, pathOf } = receiving;
let t: TestService;
let stranger: TestUser;
beforeAll(async () => {
  ({ t, stranger } = receiving);
  await t.admin();
});

const types = ['agent.created'];
const agentsAt = (path: string): string[] => at(path).map((r) => JSON.parse(r.body).data.agentId);
const refuse = (path: string) => answers.set(path, (_, res) => res.writeHead(500).end());
/** Passes the time until failed messages are sent again. */
const retry = async (): Promise<void> => {
  t.clock.advance(6000);
  await deliverAll();
};
const deliveries = async (webhook: Json, as: TestUser): Promise<Json[]> =>
  (await t.call('GET', `/webhooks/${webhook.id}/deliveries`, { as })).body;

describe('a webhook whose owner is suspended', () => {
  it('gets nothing, and later neither events of that time nor fewer than before it', async () => {
    const admin = await t.admin();
    const person = await t.admin();
    const webhook = await make({ as: person, types });
    const path = pathOf(webhook);
    refuse(path);
    const before = await t.agent(stranger);
    await deliverAll();
    expect(agentsAt(path)).toEqual([before.id]);
    answers.delete(path);
    await t.call('PATCH', `/users/${person.id}`, { as: admin, body: { status: 'suspended' } });
    await t.agent(stranger);
    await retry();
    expect(agentsAt(path)).toEqual([before.id]);
    await t.call('PATCH', `/users/${person.id}`, { as: admin, body: { status: 'active' } });
    const after = await t.agent(stranger);
    await deliverAll();
    expect(agentsAt(path)).toEqual([before.id, before.id, after.id]);
  });
});

describe('messages about others, queued while the webhook got everything', () => {
  it('are dropped and not shown once the owner is no longer an admin; own ones are delivered', async () => {
    const admin = await t.admin();
    const webhook = await make({ as: admin, types });
    const path = pathOf(webhook);
    refuse(path);
    const theirs = await t.agent(stranger);
    const mine = await t.agent(admin);
    await deliverAll();
    expect(agentsAt(path).sort()).toEqual([theirs.id, mine.id].sort());
    answers.delete(path);
    await t.call('PATCH', `/users/${admin.id}`, { as: admin, body: { role: 'user' } });
    await retry();
    expect(agentsAt(path).slice(2)).toEqual([mine.id]);
    const [own, hidden] = await deliveries(webhook, admin);
    expect(own).toMatchObject({ status: 'delivered' });
    expect(hidden).toMatchObject({ status: 'dropped', lastError: 'not_visible', attempts: 1 });
    expect((await t.call('GET', `/webhooks/deliveries/${own.id}`, { as: admin })).status).toBe(200);
    expect((await t.call('GET', `/webhooks/deliveries/${hidden.id}`, { as: admin })).status).toBe(404);
    await t.call('POST', `/webhooks/deliveries/${hidden.id}/redeliver`, { as: admin });
    await deliverAll();
    expect(agentsAt(path)).toHaveLength(3);
    const test = await t.call('POST', `/webhooks/${webhook.id}/test`, { as: admin });
    expect(test.body).toMatchObject({ status: 'delivered' });
  });

  it('do not reach an address that an agent of an admin sets, nor can the agent read them', async () => {
    const admin = await t.admin();
    const permissions = [
      { resource: 'legate:webhooks', actions: ['read', 'write'] },
      { resource: 'legate:events', actions: ['read'] },
    ];
    const agent = await t.agent(admin, { permissions });
    t.clock.advance(1);
    const webhook = await make({ as: admin, types });
    refuse(pathOf(webhook));
    await t.agent(stranger);
    const mine = await t.agent(admin);
    await deliverAll();
    const path = newPath();
    await t.call('PATCH', `/webhooks/${webhook.id}`, { as: agent, body: { url: receiving.base + path } });
    await retry();
    expect(agentsAt(path)).toEqual([mine.id]);
    const statuses = [];
    for (const { id } of await deliveries(webhook, admin)) {
      await t.call('POST', `/webhooks/deliveries/${id}/redeliver`, { as: agent });
      statuses.push((await t.call('GET', `/webhooks/deliveries/${id}`, { as: agent })).status);
    }
    expect(statuses).toEqual([200, 404]);
    await deliverAll();
    expect(agentsAt(path)).toEqual([mine.id, mine.id]);
  });

  it('are recognised in messages for a chat, which do not name the user', async () => {
    const admin = await t.admin();
    const path = newPath();
    const created = await t.call('POST', '/webhooks', {
      as: admin,
      body: { url: receiving.base + path, types: ['approval.requested'], format: 'slack' },
    });
    expect(created.status).toBe(201);
    refuse(path);
    const permissions = [{ resource: 'x:*', actions: ['read'], constraints: { requireApproval: true } }];
    for (const user of [stranger, admin])
      await t.authorize(await t.agent(user, { permissions }), { action: 'read', resource: 'x:y' });
    await deliverAll();
    expect(at(path)).toHaveLength(2);
    answers.delete(path);
    await t.call('PATCH', `/users/${admin.id}`, { as: admin, body: { role: 'user' } });
    await retry();
    expect(at(path)).toHaveLength(3);
    expect((await deliveries(created.body, admin)).map((d) => d.lastError)).toEqual([null, 'not_visible']);
  });
});
