import { expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';
import { checkSealedLedger } from './index.ts';

it('a check names the first bad row also if the record of an erasure is no longer JSON, or another one', async () => {
  const t = await createTestService({ config: { ledger: { seal: 'on' } } });
  const agent = await t.agent(await t.user(), { permissions: [{ resource: 'db:*', actions: ['read'] }] });
  const { body } = await t.authorize(agent, { action: 'read', resource: 'db:x' });
  const { seq } = (await t.legate.audit.query({})).entries[0] as { seq: number };
  const { recordedAs } = await t.legate.ledger.erase({ auditIds: [body.auditId] });
  await t.legate.ledger.proof(recordedAs[0] as number);
  expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
  for (const data of ['nonsense', 'null', '{}', '{"what":"private","seqs":"all"}']) {
    const change = t.legate.platform.database.write.updateTable('stream_events').set({ data });
    await change.where('type', '=', 'audit.erased').execute();
    expect(await checkSealedLedger(t.legate.platform), data).toMatchObject({ firstBad: seq });
  }
});
