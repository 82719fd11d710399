import { expect, it } from 'vitest';
import { createTestService, dialect, type Json, type TestService } from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { readHead, readPosition } from '../../ledger/index.ts';
import { forgetOldEvents } from './retention.ts';

const config = { events: { retentionDays: 2 } };

const typesSeenBy = async (t: TestService, as: { token: string }): Promise<string[]> =>
  (await t.call('GET', '/events?limit=1000', { as })).body.map((event: Json) => event.type);

it('two instances that delete old events go on where the other stopped; neither moves the position back', async () => {
  const t = await createTestService({ config });
  const other = await createTestService({ config, sameDatabaseAs: t });
  const { database } = t.legate.platform;
  const user = await t.user();
  const stored = () => readPosition(database.read, 'events/retention');
  for (let round = 0; round < 3; round++) {
    await t.agent(user);
    await other.agent(user);
    const old = await readHead(database.read);
    t.clock.advance(3 * DAY_MS);
    await t.agent(user);
    const runs = [t, other, t, other].map(
      ({ legate }) =>
        () =>
          forgetOldEvents(legate.platform),
    );
    // SQLite has one writer at a time, and on the same thread the other one would block.
    if (dialect === 'sqlite') for (const run of runs) await run();
    else await Promise.all(runs.map((run) => run()));
    expect(await stored()).toBe(old);
    expect(await typesSeenBy(other, user)).toEqual(['agent.created']);
    // An instance that remembers an older position continues from the stored one.
    await forgetOldEvents(other.legate.platform);
    expect(await stored()).toBe(old);
  }
});

it('rows that a stopped instance has deleted are not examined again by the next one', async () => {
  const t = await createTestService({ config });
  const user = await t.user();
  await t.agent(user);
  t.clock.advance(3 * DAY_MS);
  await t.agent(user);
  await forgetOldEvents(t.legate.platform);
  await t.legate.close();
  const next = await createTestService({ config, sameDatabaseAs: t });
  await forgetOldEvents(next.legate.platform);
  expect(await typesSeenBy(next, user)).toEqual(['agent.created']);
  next.clock.advance(3 * DAY_MS);
  await next.agent(user);
  await forgetOldEvents(next.legate.platform);
  expect(await typesSeenBy(next, user)).toEqual(['agent.created']);
  expect(await readPosition(next.legate.platform.database.read, 'events/retention')).toBe(2);
});

it('after a reset of the clock, old events are deleted at their time, whatever a fast clock had recorded', async () => {
  const t = await createTestService({ config });
  const user = await t.user();
  for (let i = 0; i < 20; i++) await t.agent(user);
  t.clock.advance(400 * DAY_MS);
  for (let i = 0; i < 5; i++) await t.agent(user);
  t.clock.advance(-400 * DAY_MS);
  await t.legate.platform.ledger.resetClock(SYSTEM);
  await t.agent(user);
  t.clock.advance(3 * DAY_MS);
  await t.agent(user);
  await forgetOldEvents(t.legate.platform);
  expect(await typesSeenBy(t, user)).toEqual(['agent.created']);
});
