import { expect, it } from 'vitest';
import { allowedCall } from '../../test/support/audit-record.ts';
import { createTestService, type TestService } from '../../test/support/service.ts';
import type { Need, PendingDecision } from './index.ts';

const MORE_THAN_FIT = 100_001;
const KEY = 'counter-under-test';
const HOUR = 1;

/** A decision that counts one call under KEY. */
const countsCall: PendingDecision<void> = {
  prepare: (context) => {
    context.counters.want(KEY);
    return undefined;
  },
  decide: (context) => {
    context.counters.take(KEY, HOUR);
    return { answer: undefined, record: allowedCall };
  },
};

/** A decision that needs counters twice: the first time more than fit in memory. */
function fillsMemory(): PendingDecision<void> {
  const needs: Need[] = [
    { counters: Array.from({ length: MORE_THAN_FIT }, (_, i) => `filler-${i}`) },
    { counters: ['one-more'] },
  ];
  return {
    prepare: () => undefined,
    decide: () => {
      const need = needs.shift();
      return need ? { lacks: [need] } : { answer: undefined };
    },
  };
}

const usedCalls = (t: TestService): Promise<number | undefined> =>
  t.legate.platform.ledger.decide<number | undefined>({
    prepare: (context) => {
      context.counters.want(KEY);
      return undefined;
    },
    decide: (context) => ({ answer: context.counters.used(KEY, HOUR) }),
  });

it('writes the counts of a batch even when the batch loads more counters than fit in memory', async () => {
  const t = await createTestService();
  const { ledger } = t.legate.platform;
  await Promise.all([ledger.decide(countsCall), ledger.decide(fillsMemory())]);
  expect(await usedCalls(t)).toBe(1);

  const other = await createTestService({ sameDatabaseAs: t });
  expect(await usedCalls(other)).toBe(1);
});
