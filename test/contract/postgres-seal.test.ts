import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { checkSealedLedger } from '../../src/activity/seal/index.ts';
import { parseKey, policyOfKeys, verifyProof } from '../../src/verify/index.ts';
import { createTestService, type TestAgent, type TestService } from '../support/service.ts';
import { untilPasses } from '../support/until.ts';

const SEALED = { ledger: { seal: 'on' } } as const;
const permissions = [{ resource: 'db:*', actions: ['read'] }];

/** Makes a decision and returns the id of its entry. */
async function decide(t: TestService, agent: TestAgent): Promise<string> {
  const r = await t.authorize(agent, { action: 'read', resource: 'db:x' });
  expect(r.status).toBe(200);
  return r.body.auditId;
}

describe('the sealed ledger of several instances', () => {
  it('is sealed by one instance at a time, and every row can be proven', async () => {
    const first = await createTestService({ config: SEALED });
    const second = await createTestService({ config: SEALED, sameDatabaseAs: first });
    const agent = await first.agent(await first.user(), { permissions });
    const both = [first, second];
    const ids = await Promise.all(Array.from({ length: 40 }, (_, i) => decide(both[i % 2] as TestService, agent)));
    const policy = policyOfKeys((await first.legate.ledger.keys()).keys.map((vkey) => parseKey(vkey)));
    for (const [i, id] of ids.entries())
      expect(verifyProof(await (both[i % 2] as TestService).legate.ledger.proof(id), policy).entry.fields['id']).toBe(
        id,
      );
    expect(await checkSealedLedger(first.legate.platform)).not.toHaveProperty('problem');
  });

  it('is read for sealing only by the instance that seals, and by another after that one has stopped', async () => {
    const first = await createTestService({ config: SEALED });
    const second = await createTestService({ config: SEALED, sameDatabaseAs: first });
    const agent = await first.agent(await first.user(), { permissions });
    const read = vi.spyOn(second.legate.platform.database.read, 'selectFrom');
    onTestFinished(() => read.mockRestore());
    const times = (table: string) => read.mock.calls.filter(([t]) => String(t) === table).length;
    const untilLooked = async (looks: number): Promise<void> => {
      const goal = times('seal') + looks;
      while (times('seal') < goal) await first.legate.ledger.proof(await decide(second, agent));
    };
    await untilLooked(3);
    const before = times('seal_remains');
    await untilLooked(2);
    expect(times('seal_remains')).toBe(before);

    await first.legate.close();
    await decide(second, agent);
    await untilPasses(() => expect(times('seal_remains')).toBeGreaterThan(before));
    expect(await checkSealedLedger(second.legate.platform)).not.toHaveProperty('problem');
  });
});
