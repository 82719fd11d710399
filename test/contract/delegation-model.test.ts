import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HistoryWorld, Run } from '../support/delegation-history.ts';
import { history, SELDOM } from '../support/histories.ts';
import { createTestService, dialect } from '../support/service.ts';

/** LEGATE_TEST_HISTORIES=1000 tests more histories. Both databases run the same code, but PostgreSQL is slower. */
const HISTORIES = Number(process.env['LEGATE_TEST_HISTORIES'] ?? (dialect === 'sqlite' ? 150 : 60));

const COMMON = [
  'allowed through 0',
  'allowed through 1',
  'allowed through 2',
  'allowed through 3',
  'depth 1',
  'depth 2',
  'depth 3',
  'NO_PERMISSION',
  'RATE_LIMITED',
  'IP_NOT_ALLOWED',
  'AGENT_REVOKED',
  'AGENT_NOT_FOUND',
  'INSUFFICIENT_PERMISSIONS',
  'DELEGATION_DEPTH_EXCEEDED',
  'ended by one revocation: 1',
] as const;

const RARE = [
  'AGENT_EXPIRED',
  'OUTSIDE_TIME_WINDOW',
  'DELEGATION_CYCLE',
  'DELEGATION_OUTSIDE_TENANT',
  'DELEGATION_TO_SELF',
  'EXPIRES_AT_IN_PAST',
  'AGENT_NOT_ACTIVE',
  'ended by one revocation: 2',
  'ended by one revocation: 3',
] as const;

describe('random histories of delegation', () => {
  it(`${HISTORIES} histories: after every step, decisions, lists, codes and events equal the model's`, async () => {
    const t = await createTestService({ config: { agents: { maxPerOwner: 1_000_000 } } });
    const tenantId = await t.tenant();
    const users = {
      alice: await t.user({ tenantId }),
      bob: await t.user({ tenantId }),
      carol: await t.user(),
      admin: await t.admin(),
    };
    const w: HistoryWorld = { t, users, seen: new Map() };
    await fc.assert(
      fc.asyncProperty(history, (h) => new Run(w, h).play()),
      {
        numRuns: HISTORIES,
        examples: [[SELDOM]],
        endOnFailure: false,
        interruptAfterTimeLimit: 500_000,
        markInterruptAsFailure: true,
      },
    );
    // The comparison is only meaningful if the histories cover these cases.
    expect(COMMON.filter((what) => (w.seen.get(what) ?? 0) < HISTORIES / 20)).toEqual([]);
    expect(RARE.filter((what) => !w.seen.has(what))).toEqual([]);
  }, 600_000);
});
