import { expect, it } from 'vitest';
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
