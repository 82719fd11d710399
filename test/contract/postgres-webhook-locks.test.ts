import type { Client } from 'pg';
import { expect, it } from 'vitest';
import { newDelivery } from '../../src/activity/webhooks/dispatcher.ts';
import { webhooks } from '../../src/activity/webhooks/index.ts';
import { DAY_MS, HOUR_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { WebhookDeliveryRow } from '../../src/storage/index.ts';
import { clientOf } from '../support/postgres-client.ts';
import type { Json } from '../support/service.ts';
import { until } from '../support/until.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';

const hooks = webhookReceiver();

/** Inserts a delivery of a webhook that ended, or waits, since `at`. */
async function keep(webhook: Json, status: 'pending' | 'delivered', at: number): Promise<WebhookDeliveryRow> {
  const row = { ...newDelivery(at, webhook['id'], newId('event', at), 'agent.created', '{}'), status };
  await hooks.t.legate.platform.database.write.insertInto('webhook_deliveries').values(row).execute();
  return row;
}
const isBlocked = async (client: Client): Promise<boolean> => {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
      where datname = current_database() and pg_backend_pid() = any(pg_blocking_pids(pid))`,
  );
  return rows[0]?.count === 1;
};

it('an attempt that fails waits for a deletion of its webhook before it locks anything', async () => {
  const { t, owner, answers } = hooks;
  const path = hooks.newPath();
  const webhook = await hooks.make({ path });
  const deletion = await clientOf(t.database);
  const table = (name: string): string => `"${t.database.name}_${name}"`;
  answers.set(path, (_, res) => {
    void (async () => {
      await deletion.query(`begin; set local lock_timeout = '5s'`);
      await deletion.query(`delete from ${table('webhooks')} where id = $1`, [webhook['id']]);
      res.writeHead(500).end();
    })();
  });
  const tested = t.call('POST', `/webhooks/${webhook['id']}/test`, { as: owner });
  await until(() => isBlocked(deletion));
  await deletion.query(`delete from ${table('webhook_deliveries')} where webhook_id = $1`, [webhook['id']]);
  await deletion.query('commit');
  expect((await tested).status).toBe(200);
  expect((await t.call('GET', `/webhooks/${webhook['id']}`, { as: owner })).status).toBe(404);
});

/** A webhook whose endpoint has failed so often that its deliveries are paused. */
async function makeFailing(): Promise<Json> {
  const { clock, database } = hooks.t.legate.platform;
  const webhook = await hooks.make({ path: hooks.newPath() });
  const paused = { failures: 20, paused_until: clock.now() + 30_000 };
  await database.write.updateTable('webhooks').set(paused).where('id', '=', webhook['id']).execute();
  return webhook;
}

it('upkeep waits for a deletion of a webhook before it locks any of its deliveries', async () => {
  const { t } = hooks;
  const now = t.clock.now();
  const webhook = await makeFailing();
  await keep(webhook, 'pending', now - 2 * HOUR_MS);
  await keep(webhook, 'delivered', now - 8 * DAY_MS);
  const deletion = await clientOf(t.database);
  const table = (name: string): string => `"${t.database.name}_${name}"`;
  await deletion.query(`begin; set local lock_timeout = '5s'`);
  await deletion.query(`delete from ${table('webhooks')} where id = $1`, [webhook['id']]);
  const upkeep = webhooks.upkeep?.(t.legate.platform);
  await until(() => isBlocked(deletion));
  await deletion.query(`select 1 from ${table('webhook_deliveries')} where webhook_id = $1 for update nowait`, [
    webhook['id'],
  ]);
  await deletion.query('rollback');
  await upkeep;
});

it('upkeep does not drop a message that is delivered again at the same time', async () => {
  const { t } = hooks;
  const { database } = t.legate.platform;
  const now = t.clock.now();
  const webhook = await makeFailing();
  const { id } = await keep(webhook, 'pending', now - 2 * HOUR_MS);
  const redelivery = await clientOf(t.database);
  await redelivery.query('begin');
  await redelivery.query(`update "${t.database.name}_webhook_deliveries" set next_at = $1 where id = $2`, [now, id]);
  const upkeep = webhooks.upkeep?.(t.legate.platform);
  await until(() => isBlocked(redelivery));
  await redelivery.query('commit');
  await upkeep;
  const row = await database.read.selectFrom('webhook_deliveries').selectAll().where('id', '=', id).executeTakeFirst();
  expect(row).toMatchObject({ status: 'pending', last_error: null });
});
