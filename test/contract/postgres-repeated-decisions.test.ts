import { expect, it } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import type { PendingDecision } from '../../src/ledger/index.ts';
import { AlreadyAnswered } from '../../src/ledger/index.ts';
import { READ_CONNECTIONS } from '../../src/storage/database.ts';
import type { PostgresClient } from '../../src/storage/postgres-client.ts';
import { allowedCall } from '../support/audit-record.ts';
import { newWorld } from '../support/world.ts';

it('a repeated decision does not wait for the connections of reads, because others wait for it', async () => {
  const { t, agent, owner } = await newWorld(undefined, { withoutIntervals: true });
  const { database, ledger } = t.legate.platform;
  if (database.dialect !== 'postgres') throw new Error('this is a test for PostgreSQL');
  const decision: PendingDecision<string> = {
    prepare: async (_, db) => void (await db.selectFrom('head').select('seq').execute()),
    decide: ({ now }) => ({
      answer: 'decided',
      record: { ...allowedCall, id: newId('audit', now), agentId: agent.id, userId: owner.id },
    }),
  };
  const key = { scope: 'of-the-test', part: 0, fingerprint: 'same', admitLong: () => true };
  expect(await ledger.decide(decision, key)).toBe('decided');
  const taken: PostgresClient[] = [];
  try {
    while (taken.length < READ_CONNECTIONS) taken.push(await database.pool.connect());
    await expect(ledger.decide(decision, key)).rejects.toBeInstanceOf(AlreadyAnswered);
  } finally {
    for (const client of taken) client.release();
  }
});
