import { expect, it, vi } from 'vitest';
import { createTestService } from '../../test/support/service.ts';
import type { Need, PendingDecision } from './index.ts';

/** A decision that lacks `need` the first time. */
function lacking(need: Need): PendingDecision<string> {
  const needs = [need];
  return {
    prepare: () => undefined,
    decide: () => {
      const next = needs.shift();
      return next ? { lacks: [next] } : { answer: 'decided' };
    },
  };
}

it('a decision whose data cannot be loaded is refused with 503, and others of its batch are decided', async () => {
  const { ledger } = (await createTestService()).legate.platform;
  const unreadable = lacking({ load: () => Promise.reject(new Error('the connection is gone')) });
  const readable = lacking({ load: () => Promise.resolve() });
  const [refused, decided] = await Promise.allSettled([ledger.decide(unreadable), ledger.decide(readable)]);
  expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'AUDIT_UNAVAILABLE', status: 503 } });
  expect(decided).toEqual({ status: 'fulfilled', value: 'decided' });
});

it('a decision is not affected if another of its batch could not read the calls waiting for approval', async () => {
  const t = await createTestService();
  const permissions = [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }];
  const agent = await t.agent(await t.user(), { permissions });
  const { database } = t.legate.platform;
  const { lockedRead } = database;
  let reads = 0;
  // The second of three reads fails: each decision needs the approval of its call and the calls that wait.
  const failing = new Proxy(lockedRead, {
    get: (db, key: 'selectFrom') => (table: 'approvals') => {
      if (table === 'approvals' && ++reads === 2) throw new Error('the connection is gone');
      return db[key](table);
    },
  });
  const reading = vi.spyOn(database, 'lockedRead', 'get').mockReturnValue(failing);
  const answers = await Promise.all([0, 1].map(() => t.authorize(agent, { action: 'pay', resource: 'bank:1' })));
  reading.mockRestore();
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 503]);
  expect(answers.find(({ status }) => status === 200)?.body).toMatchObject({
    allowed: false,
    reason: 'APPROVAL_REQUIRED',
    approvalId: expect.any(String),
  });
});
