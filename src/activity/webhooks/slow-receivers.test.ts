import { beforeAll, describe, expect, it, vi } from 'vitest';
import { createTestService, type TestService, type TestUser } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { webhookReceiver } from '../../../test/support/webhook-receiver.ts';
import type { Encrypted } from '../../kernel/encryption.ts';
import { dispatcherOf } from './dispatcher.ts';

const receiving = webhookReceiver();
const { answers, newPath, make, deliverAll, at, deliveries, pathOf } = receiving;
let t: TestService;
let owner: TestUser;
beforeAll(() => {
  ({ t, owner } = receiving);
});

describe('receivers that are slow, unreachable or new', () => {
  it('an attempt of a process that crashed is repeated when its lease has not been renewed for 6 s', async () => {
    const webhook = await make({ types: ['agent.created'] });
    await t.agent(owner);
    const dispatcher = dispatcherOf(t.legate.platform);
    answers.set(pathOf(webhook), () => {});
    await dispatcher.run();
    await until(() => at(pathOf(webhook)).length === 1);
    answers.delete(pathOf(webhook));
    const died = vi.spyOn(dispatcher, 'renew').mockResolvedValue();
    const next = await createTestService({ sameDatabaseAs: t, config: { webhooks: { allowPrivateNetworks: true } } });
    Object.assign(next.legate.platform, { secrets: t.legate.platform.secrets });
    t.clock.advance(5900);
    await deliverAll(next);
    expect(at(pathOf(webhook)).length).toBe(1);
    t.clock.advance(100);
    await deliverAll(next);
    died.mockRestore();
    expect(await deliveries(webhook)).toMatchObject([{ status: 'delivered', attempts: 1 }]);
    // The first attempt finally fails, which changes nothing.
    receiving.server.closeAllConnections();
    await deliverAll();
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
    await until(() => at(pathOf(webhook)).length === 1);
    const next = await createTestService({ sameDatabaseAs: t, config: { webhooks: { allowPrivateNetworks: true } } });
    for (let i = 0; i < 3; i++) {
      t.clock.advance(5000);
      await dispatcher.renew();
      await dispatcherOf(next.legate.platform).run();
    }
    expect(at(pathOf(webhook)).length).toBe(1);
    await next.legate.close();
    // The same process does not repeat it after a pause either.
    t.clock.advance(6000);
    await dispatcher.run();
    expect(at(pathOf(webhook)).length).toBe(1);
    fail();
    await deliverAll();
    expect(await deliveries(webhook)).toMatchObject([{ status: 'pending', attempts: 1, lastStatus: 500 }]);
  });

  it('a redelivery during the last attempt starts a new series, whatever that attempt results in', async () => {
    const path = newPath();
    const webhook = await make({ path, types: ['agent.created'] });
    answers.set(path, (_, res) => res.writeHead(500).end());
    await t.agent(owner);
    await deliverAll();
    const [{ id }] = await deliveries(webhook);
    for (const ms of [5500, 330_000]) {
      t.clock.advance(ms);
      await deliverAll();
    }
    t.clock.advance(1_980_000);
    answers.set(path, () => {});
    await dispatcherOf(t.legate.platform).run();
    await until(() => at(path).length === 4);
    const enable = (enabled: boolean) => t.call('PATCH', `/webhooks/${webhook.id}`, { as: owner, body: { enabled } });
    await enable(false);
    const waiting = { id, status: 'pending', attempts: 0 };
    expect((await t.call('POST', `/webhooks/deliveries/${id}/redeliver`, { as: owner })).body).toMatchObject(waiting);
    answers.set(path, (_, res) => res.writeHead(204).end());
    receiving.server.closeAllConnections();
    await deliverAll();
    expect(await deliveries(webhook)).toMatchObject([waiting]);
    await enable(true);
    await deliverAll();
    expect(await deliveries(webhook)).toMatchObject([{ id, status: 'delivered', attempts: 1 }]);
  });

  it('waits for all deliveries, also for those that the background begins meanwhile', async () => {
    const [path, user] = [newPath(), await t.user()];
    const held: (() => void)[] = [];
    answers.set(path, (_, res) => held.push(() => res.writeHead(204).end()));
    const webhook = await make({ as: user, path, types: ['agent.created'] });
    for (let i = 0; i < 7; i++) await t.agent(user);
    const delivered = async (): Promise<number> =>
      (await t.call('GET', `/webhooks/${webhook.id}/deliveries?status=delivered`, { as: user })).body.length;
    const dispatcher = dispatcherOf(t.legate.platform);
    await dispatcher.run();
    await until(() => held.length === 5);
    let idle = false;
    const all = deliverAll().then(() => {
      idle = true;
    });
    // Two are due and have no room.
    await dispatcher.run();
    for (const answer of held.slice(0, 4)) answer();
    // The background begins both.
    await until(() => held.length === 7);
    held[4]?.();
    await until(async () => (await delivered()) === 5);
    await dispatcher.run();
    expect(idle).toBe(false);
    for (const answer of held.slice(5)) answer();
    await all;
    expect(await delivered()).toBe(7);
  });

  it('after twenty failures in a row an endpoint gets nothing for 30 s', async () => {
    const [path, user] = [newPath(), await t.user()];
    answers.set(path, (_, res) => res.writeHead(503).end());
    const webhook = await make({ as: user, path, types: ['agent.created'] });
    for (let i = 0; i < 23; i++) await t.agent(user);
    await deliverAll();
    expect(at(path).length).toBe(20);
    t.clock.advance(29_999);
    await deliverAll();
    expect(at(path).length).toBe(20);
    answers.delete(path);
    t.clock.advance(1);
    await deliverAll();
    expect((await t.call('GET', `/webhooks/${webhook.id}/deliveries?status=delivered`, { as: user })).body.length).toBe(
      23,
    );
  });

  it('a secret that cannot be decrypted fails the delivery as a receiver does; nothing is sent unsigned', async () => {
    const webhook = await make({ types: ['agent.created'] });
    await t.legate.platform.database.write
      .updateTable('webhooks')
      .set({ secret: 'gone.AAAA.AAAA' as Encrypted })
      .where('id', '=', webhook.id)
      .execute();
    const r = await t.call('POST', `/webhooks/${webhook.id}/test`, { as: owner });
    expect(r.body).toMatchObject({ status: 'dropped', lastStatus: null, lastError: 'secret_unreadable' });
    expect(at(pathOf(webhook))).toEqual([]);
  });

  it('an endpoint gets only events that happen after its creation', async () => {
    await make({ types: ['agent.created'] });
    await t.agent(owner);
    t.clock.advance(1);
    const webhook = await make({ types: ['agent.created'] });
    const later = await t.agent(owner);
    await deliverAll();
    expect(at(pathOf(webhook)).map((r) => JSON.parse(r.body).agentId)).toEqual([later.id]);
  });

  it('messages for a deleted user are not sent', async () => {
    const leaver = await t.user();
    const path = newPath();
    answers.set(path, (_, res) => res.writeHead(500).end());
    const webhook = await make({ as: leaver, path, types: ['agent.created'] });
    await t.agent(leaver);
    await deliverAll();
    expect(at(path).length).toBe(1);
    expect((await t.call('DELETE', `/users/${leaver.id}`, { as: await t.admin() })).status).toBe(204);
    t.clock.advance(10_000);
    await deliverAll();
    expect(at(path).length).toBe(1);
    await expect(t.legate.webhooks.get(webhook.id)).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
  });
});
