import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Json, TestAgent, TestService, TestUser } from '../../../test/support/service.ts';
import { webhookReceiver } from '../../../test/support/webhook-receiver.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { dispatcherOf } from './dispatcher.ts';
import { webhooks } from './index.ts';

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
    // The repeated message and the next one are sent at the same time.
    expect(agentsAt(path).toSorted()).toEqual([before.id, before.id, after.id].toSorted());
  });

  it('keeps its messages for longer than an hour, also if its receiver failed many times in a row', async () => {
    const admin = await t.admin();
    const person = await t.user();
    const webhook = await make({ as: person, types });
    const path = pathOf(webhook);
    refuse(path);
    const agent = await t.agent(person);
    await deliverAll();
    const db = t.legate.platform.database.write;
    await db.updateTable('webhooks').set({ failures: 20 }).where('id', '=', webhook.id).execute();
    await t.call('PATCH', `/users/${person.id}`, { as: admin, body: { status: 'suspended' } });
    t.clock.advance(2 * HOUR_MS);
    await webhooks.upkeep?.(t.legate.platform);
    answers.delete(path);
    await t.call('PATCH', `/users/${person.id}`, { as: admin, body: { status: 'active' } });
    await deliverAll();
    expect(agentsAt(path)).toEqual([agent.id, agent.id]);
  });
});

it('a webhook that is disabled gets no message that was already chosen for it, until it is enabled', async () => {
  const owner = await t.user();
  const webhook = await make({ as: owner, types });
  const path = pathOf(webhook);
  const enable = (enabled: boolean) => t.call('PATCH', `/webhooks/${webhook.id}`, { as: owner, body: { enabled } });
  const agent = await t.agent(owner);
  const dispatcher = dispatcherOf(t.legate.platform);
  const attempt = dispatcher.attempt.bind(dispatcher);
  const attempted = vi.spyOn(dispatcher, 'attempt').mockImplementation(async (delivery, ...more) => {
    if (delivery.webhook_id === webhook.id) expect((await enable(false)).status).toBe(200);
    return attempt(delivery, ...more);
  });
  await deliverAll();
  attempted.mockRestore();
  expect(agentsAt(path)).toEqual([]);
  await enable(true);
  await retry();
  expect(agentsAt(path)).toEqual([agent.id]);
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

  it('are not shown to an agent that may no longer read events', async () => {
    const owner = await t.user();
    const permissions = ['legate:webhooks', 'legate:events'].map((resource) => ({ resource, actions: ['read'] }));
    const agent = await t.agent(owner, { permissions });
    t.clock.advance(1);
    const webhook = await make({ as: owner, types });
    await t.agent(owner);
    await deliverAll();
    const [{ id }] = (await deliveries(webhook, agent as never)) as [Json];
    const read = async (as: { token: string }) => t.call('GET', `/webhooks/deliveries/${id}`, { as });
    expect((await read(agent)).body.payload).toContain('agent.created');
    const body = { permissions: permissions.slice(0, 1) };
    expect((await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body })).status).toBe(200);
    expect((await read(agent)).status).toBe(403);
    expect((await read(owner)).status).toBe(200);
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

describe('a webhook whose address an agent has set', () => {
  const permissions = [
    { resource: 'legate:webhooks', actions: ['read', 'write'] },
    { resource: 'legate:events', actions: ['read'] },
  ];
  const shown = async ({ id }: Json, as: TestUser): Promise<Json> =>
    (await t.call('GET', `/webhooks/${id}`, { as })).body;

  it.each<[string, (agent: TestAgent, owner: TestUser) => Promise<unknown>]>([
    ['is revoked', (agent, as) => t.call('DELETE', `/agents/${agent.id}`, { as })],
    ['has expired', async () => t.clock.advance(7_200_000)],
    [
      'may no longer read events',
      (agent, as) => t.call('PATCH', `/agents/${agent.id}`, { as, body: { permissions: permissions.slice(0, 1) } }),
    ],
  ])('gets nothing more once the agent %s, until a person enables it', async (_, end) => {
    const owner = await t.user();
    const expiresAt = new Date(t.clock.now() + 3_600_000).toISOString();
    const agent = await t.agent(owner, { permissions, expiresAt });
    t.clock.advance(1);
    const webhook = await make({ as: agent as never, types });
    const path = pathOf(webhook);
    refuse(path);
    const [before] = [await t.agent(owner), await deliverAll()];
    expect(agentsAt(path)).toEqual([before.id]);
    answers.delete(path);
    await end(agent, owner);
    await t.agent(owner);
    await retry();
    expect(agentsAt(path)).toEqual([before.id]);
    expect(await shown(webhook, owner)).toMatchObject({ enabled: false, disabledReason: 'agent-not-allowed' });
    const [change] = (await t.call('GET', `/changes?subject=${webhook.id}&limit=1`, { as: owner })).body;
    expect(change).toMatchObject({ type: 'webhook.updated', actor: { kind: 'system' }, after: { enabled: false } });
    const attention = (await t.call('GET', '/dashboard/attention', { as: owner })).body;
    expect(JSON.stringify(attention.webhooks)).toContain(webhook.id);
    await t.call('PATCH', `/webhooks/${webhook.id}`, { as: owner, body: { enabled: true } });
    const after = await t.agent(owner);
    await deliverAll();
    expect(agentsAt(path)).toContain(after.id);
    expect(await shown(webhook, owner)).toMatchObject({ enabled: true, disabledReason: null });
  });

  it('stays enabled while another agent of the owner ends, and if a person has set the address since', async () => {
    const owner = await t.user();
    const [agent, other] = [await t.agent(owner, { permissions }), await t.agent(owner, { permissions })];
    t.clock.advance(1);
    const [own, adopted] = [await make({ as: agent as never, types }), await make({ as: other as never, types })];
    await t.call('PATCH', `/webhooks/${adopted.id}`, { as: owner, body: { url: adopted.url } });
    await t.call('DELETE', `/agents/${other.id}`, { as: owner });
    const made = await t.agent(owner);
    await deliverAll();
    for (const webhook of [own, adopted]) expect(agentsAt(pathOf(webhook))).toEqual([made.id]);
  });
});
