import { expect, it } from 'vitest';
import { createTestService, FakeClock } from '../../../test/support/service.ts';
import { webhookReceiver } from '../../../test/support/webhook-receiver.ts';
import { SYSTEM } from '../../access/actor.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { webhooks } from './index.ts';

const receiving = webhookReceiver();
const config = { webhooks: { allowPrivateNetworks: true } };

it('an instance whose clock is wrong delivers nothing; another one does', async () => {
  const { t, make, owner, pathOf } = receiving;
  const fast = new FakeClock();
  fast.set(new Date(t.clock.now() + 400 * DAY_MS).toISOString());
  const wrong = await createTestService({ sameDatabaseAs: t, clock: fast, databaseClock: t.clock, config });
  Object.assign(wrong.legate.platform, { secrets: t.legate.platform.secrets });
  wrong.legate.platform.ledger.time.compare(undefined, fast.now());
  const webhook = await make({ types: ['agent.created'] });
  await t.agent(owner);
  await receiving.deliverAll(wrong);
  expect(receiving.at(pathOf(webhook))).toHaveLength(0);
  await receiving.deliverAll();
  expect(receiving.at(pathOf(webhook))).toHaveLength(1);
});

it('what waits, is leased or pauses because of a fast clock goes on after it is set back', async () => {
  const { t, make, owner, answers, pathOf } = receiving;
  const [failing, leased] = [await make({ types: ['agent.created'] }), await make({ types: ['agent.created'] })];
  for (const webhook of [failing, leased]) answers.set(pathOf(webhook), (_, res) => void res.writeHead(500).end());
  t.clock.advance(400 * DAY_MS);
  await t.agent(owner);
  await receiving.deliverAll();
  const db = t.legate.platform.database.write;
  const paused_until = t.clock.now() + 30_000;
  await db.updateTable('webhooks').set({ paused_until }).where('id', '=', failing.id).execute();
  const lease = { next_at: t.clock.now() - 401 * DAY_MS, lease_until: t.clock.now() };
  await db.updateTable('webhook_deliveries').set(lease).where('webhook_id', '=', leased.id).execute();
  t.clock.advance(-400 * DAY_MS);
  answers.clear();
  await webhooks.upkeep?.(t.legate.platform);
  await receiving.deliverAll();
  for (const webhook of [failing, leased])
    expect(await receiving.deliveries(webhook)).toMatchObject([{ status: 'delivered', attempts: 2 }]);
});

it('a webhook of a fast clock gets the events after the time of the ledger is set back', async () => {
  const { t, make, owner, pathOf } = receiving;
  t.clock.advance(400 * DAY_MS);
  const webhook = await make({ types: ['agent.created'] });
  t.clock.advance(-400 * DAY_MS);
  await t.legate.platform.ledger.resetClock(SYSTEM);
  await t.agent(owner);
  await receiving.deliverAll();
  expect(receiving.at(pathOf(webhook))).toHaveLength(1);
});
