import { expect, it } from 'vitest';
import { clientOf } from '../support/postgres-client.ts';
import { until } from '../support/until.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';

const hooks = webhookReceiver();

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
  await until(async () => {
    const { rows } = await deletion.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
        where datname = current_database() and pg_backend_pid() = any(pg_blocking_pids(pid))`,
    );
    return rows[0]?.count === 1;
  });
  await deletion.query(`delete from ${table('webhook_deliveries')} where webhook_id = $1`, [webhook['id']]);
  await deletion.query('commit');
  expect((await tested).status).toBe(200);
  expect((await t.call('GET', `/webhooks/${webhook['id']}`, { as: owner })).status).toBe(404);
});
