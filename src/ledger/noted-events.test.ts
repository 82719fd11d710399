import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { createTestService, type TestService } from '../../test/support/service.ts';
import { SYSTEM } from '../access/actor.ts';
import type { ActedEvent } from './index.ts';

let t: TestService;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
});

// The timer that waits for a batch is fake, so that nothing depends on the speed of the machine.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => {
  // Resumes background work that paused meanwhile, which the service waits for when it is closed.
  vi.runOnlyPendingTimers();
  vi.useRealTimers();
});

const event = (server: unknown): ActedEvent => ({ type: 'gateway.restarted', data: { server }, actor: SYSTEM });
const recorded = async (): Promise<unknown[]> => {
  const rows = await t.legate.platform.database.read
    .selectFrom('stream_events')
    .select(['type', 'data'])
    .where('type', 'in', ['audit', 'gateway.restarted'])
    .orderBy('seq')
    .execute();
  return rows.map(({ type, data }) => (type === 'audit' ? type : JSON.parse(data ?? '{}').server));
};

it('events join the next batch of decisions, or get their own commit', async () => {
  const { ledger } = t.legate.platform;
  const agent = await t.agent(await t.user());
  const ask = () => t.legate.authorize({ agentId: agent.id, action: 'read', resource: 'x' });
  await ask();
  const { changes } = ledger.stats;

  // The batch begins after the synchronous code of this test.
  const asked = ask();
  const joined = [ledger.note(event('one')), ledger.note(event('two'))];
  expect(joined[0]).toBe(joined[1]);
  await Promise.all([asked, ...joined]);
  expect(ledger.stats.changes).toBe(changes);

  const alone = ledger.note(event('three'));
  vi.advanceTimersByTime(10);
  await alone;
  expect(ledger.stats.changes).toBe(changes + 1);
  expect(await recorded()).toEqual(['audit', 'audit', 'one', 'two', 'three']);
});

it('an event that cannot be written fails the one batch that it joined, and no later one', async () => {
  const { ledger } = t.legate.platform;
  const agent = await t.agent(await t.user());
  const ask = () => t.legate.authorize({ agentId: agent.id, action: 'read', resource: 'x' });
  await ask();
  const circular: { of?: unknown } = {};
  circular.of = circular;
  const asked = ask();
  const lost = ledger.note(event(circular));
  await expect(asked).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
  await expect(lost).rejects.toThrow();
  expect(await ask()).toMatchObject({ allowed: false, auditId: expect.any(String) });
});
