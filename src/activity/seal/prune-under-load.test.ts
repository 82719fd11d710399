import type { KyselyPlugin } from 'kysely';
import { expect, it } from 'vitest';
import { createTestService, dialect, type TestService } from '../../../test/support/service.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { parseKey, policyOfKeys, verifyExport, verifyProof } from '../../verify/index.ts';
import { checkSealedLedger, pruneLedger } from './index.ts';

const config = { ledger: { seal: 'on' }, audit: { retentionDays: 90 } } as const;
const permissions = [{ resource: 'db:*', actions: ['read'] }];
/** Number of rows that retention deletes: more than a tile. */
const OLD = 300;
/** Decisions of each instance during the deletion. */
const DECISIONS = 15;

it('decisions, proofs and exports on two instances continue while retention deletes old rows', async () => {
  const t = await createTestService({ config });
  const other = await createTestService({ config, sameDatabaseAs: t });
  const instances = [t, other];
  const [owner, admin] = [await t.user(), await t.admin()];
  const agent = await t.agent(owner, { permissions });
  const request = { action: 'read', resource: 'db:old' };
  for (let left = OLD; left > 0; left -= 100) {
    const r = await t.call('POST', '/authorize/batch', { as: agent, body: { requests: Array(100).fill(request) } });
    expect(r.status, r.text).toBe(200);
  }
  t.clock.advance(91 * DAY_MS);
  const policy = policyOfKeys((await t.legate.ledger.keys()).keys.map(parseKey));
  const decide = async (one: TestService): Promise<string> => {
    const r = await one.call('POST', '/authorize', { as: agent, body: { ...request, resource: 'db:new' } });
    expect([r.status, r.body.allowed]).toEqual([200, true]);
    return r.body.auditId;
  };
  const prove = async (one: TestService, id: string): Promise<void> => {
    let proof = await one.call('GET', `/audit/${id}/proof`, { as: owner });
    // The instances share a thread, so on SQLite one that waits for the other's lock waits in vain, and asks again.
    for (let tries = 0; dialect === 'sqlite' && proof.status === 503 && tries < 20; tries++) {
      await new Promise(setImmediate);
      proof = await one.call('GET', `/audit/${id}/proof`, { as: owner });
    }
    if (proof.status === 200) expect(verifyProof(proof.text, policy).entry.fields['id']).toBe(id);
    else expect([proof.status, proof.body.error.code]).toEqual([409, 'NOT_YET_SEALED']);
  };
  const kept: string[] = [await decide(t)];
  await t.legate.ledger.proof(kept[0] as string);

  const exported = async (one: TestService): Promise<void> => {
    const file = await one.call('GET', '/audit/export?format=sealed', { as: admin });
    // Rows that are deleted while the export is written abort it or are missing in it, but it is never refuted.
    if (file.status === 200) verifyExport(file.text.slice(0, -1).split('\n'), policy);
    else expect(file.body.error.code).toBe('NOT_YET_SEALED');
  };
  await Promise.all([
    ...instances.map(async (one) => {
      for (let i = 0; i < DECISIONS; i++) {
        const id = await decide(one);
        kept.push(id);
        await prove(one, id);
      }
    }),
    // A run may fail or do nothing when the other instance is faster.
    ...instances.map(async (one) => {
      for (let i = 0; i < 3; i++) await pruneLedger(one.legate.platform).catch(() => {});
    }),
    ...instances.map((one) => exported(one).catch((error: Error) => expect(error.message).toContain('has no leaf'))),
  ]);
  t.clock.advance(3_600_000);
  await pruneLedger(t.legate.platform);

  const rows = await t.legate.platform.database.read.selectFrom('stream_events').select(['type', 'resource']).execute();
  expect(rows.filter(({ resource }) => resource === 'db:old')).toEqual([]);
  expect(rows.filter(({ type }) => type === 'ledger.pruned')).toHaveLength(1);
  expect(rows.filter(({ resource }) => resource === 'db:new')).toHaveLength(kept.length);
  for (const id of kept) expect(verifyProof(await other.legate.ledger.proof(id), policy).entry.fields['id']).toBe(id);
  const file = await (await t.legate.ledger.export({})).text();
  expect(verifyExport(file.slice(0, -1).split('\n'), policy)).toMatchObject({ unexplained: [], unrecorded: [] });
  for (const one of instances) expect(await checkSealedLedger(one.legate.platform)).not.toHaveProperty('problem');
});

it('a check does not report rows that retention deletes while it runs', async () => {
  const t = await createTestService({ config });
  const agent = await t.agent(await t.user(), { permissions });
  const { body } = await t.authorize(agent, { action: 'read', resource: 'db:old' });
  await t.legate.ledger.proof(body.auditId);
  t.clock.advance(91 * DAY_MS);
  // On SQLite, the query holds the only connection for reads of its service.
  const { ledgerKeys, database: own } = (await createTestService({ config, sameDatabaseAs: t })).legate.platform;
  let queries = 0;
  // The third query has read the sequence up to which rows are deleted.
  const prunes: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      if (++queries === 3) await pruneLedger(t.legate.platform);
      return result;
    },
  };
  const database = { ...own, read: own.read.withPlugin(prunes) };
  expect(await checkSealedLedger({ database, ledgerKeys })).not.toHaveProperty('problem');
  expect((await t.legate.platform.reader.byId(body.auditId, 0))?.seq).toBeUndefined();
});
