import { expect, it } from 'vitest';
import { createTestService, type TestAgent, type TestService } from '../../../../test/support/service.ts';
import { TABLE_NAMES } from '../../../storage/tables.ts';
import { parseKey, policyOfKeys, verifyExport, verifyProof } from '../../../verify/index.ts';
import { checkSealedLedger } from '../index.ts';

const config = { ledger: { seal: 'on' }, audit: { eraseEntries: true } } as const;
const permissions = [{ resource: 'db:*', actions: ['read'] }];
/** Decisions of each agent; BEFORE of them are made before anything is erased. */
const DECISIONS = 18;
const BEFORE = 6;
/** Rounds of a query, a proof and an export on each instance. */
const ROUNDS = 5;

const linesOf = (text: string) => text.slice(0, -1).split('\n');

it('decisions, queries, proofs and exports on two instances continue while entries are erased', async () => {
  const t = await createTestService({ config });
  const other = await createTestService({ config, sameDatabaseAs: t });
  const instances = [t, other];
  const [owner, admin] = [await t.user(), await t.admin()];
  const [kept, erased, deleted] = [
    await t.agent(owner, { permissions }),
    await t.agent(owner, { permissions }),
    await t.agent(owner, { permissions }),
  ];
  const agents = [kept, erased, deleted];
  const ids = new Map<TestAgent, string[]>(agents.map((agent) => [agent, []]));
  const decide = async (agent: TestAgent, i: number): Promise<void> => {
    const body = { action: 'read', resource: 'db:x', arguments: { note: `note of ${agent.id}` } };
    const r = await (instances[i % 2] as TestService).call('POST', '/authorize', { as: agent, body });
    expect([r.status, r.body.allowed]).toEqual([200, true]);
    ids.get(agent)?.push(r.body.auditId);
  };
  const policy = policyOfKeys((await t.legate.ledger.keys()).keys.map(parseKey));
  for (let i = 0; i < BEFORE; i++) await Promise.all(agents.map((agent) => decide(agent, i)));

  const loads = agents.map(async (agent) => {
    for (let i = BEFORE; i < DECISIONS; i++) await decide(agent, i);
  });
  const reads = instances.map(async (one, i) => {
    for (let n = 0; n < ROUNDS; n++) {
      const page = await one.call('GET', `/audit?agentId=${(agents[n % 3] as TestAgent).id}&limit=50`, { as: admin });
      expect(page.status).toBe(200);
      for (const { id, parameters, erased: isErased } of page.body.slice(i, i + 1)) {
        expect(Object.keys(parameters)).toEqual(isErased ? [] : ['note']);
        const proof = await one.call('GET', `/audit/${id}/proof`, { as: owner });
        if (proof.status === 200) verifyProof(proof.text, policy);
        // The entry was erased in the meantime, or is not sealed yet.
        else expect(['AUDIT_ENTRY_NOT_FOUND', 'NOT_YET_SEALED']).toContain(proof.body.error.code);
      }
      const file = await one.call('GET', '/audit/export?format=sealed&fromSeq=1', { as: admin });
      // An export that began before an erasure was recorded may have gaps, but it is never refuted.
      if (file.status === 200) expect(verifyExport(linesOf(file.text), policy).complete).toBe(true);
      else expect(file.body.error.code).toBe('NOT_YET_SEALED');
    }
  });
  const erase = async (one: TestService, body: object): Promise<number> => {
    const r = await one.call('POST', '/audit/erasures', { as: admin, body });
    if (r.status === 409 && r.body.error.code === 'NOT_YET_SEALED') return erase(one, body);
    expect(r.status, r.text).toBe(200);
    return r.body.erased;
  };
  // The erasures run at the same time, on both instances, and select the same entries twice.
  const counts = await Promise.all([
    erase(t, { agentId: erased.id }),
    erase(other, { agentId: erased.id }),
    erase(t, { agentId: deleted.id, what: 'entry' }),
    erase(other, { agentId: deleted.id, what: 'entry' }),
  ]);
  await Promise.all(loads);
  const rest = [await erase(t, { agentId: erased.id }), await erase(other, { agentId: deleted.id, what: 'entry' })];
  await Promise.all(reads);

  const sum = (...all: (number | undefined)[]): number => all.reduce<number>((a, b) => a + (b ?? 0), 0);
  expect(sum(counts[0], counts[1], rest[0])).toBe(DECISIONS);
  expect(sum(counts[2], counts[3], rest[1])).toBe(DECISIONS);
  const found = async (agent: TestAgent) =>
    (await other.call('GET', `/audit?agentId=${agent.id}&limit=100`, { as: admin })).body;
  expect(await found(kept)).toHaveLength(DECISIONS);
  expect(await found(deleted)).toEqual([]);
  for (const entry of await found(erased)) expect(entry).toMatchObject({ erased: true, parameters: {}, ip: null });
  const { read } = t.legate.platform.database;
  const rows = await Promise.all(TABLE_NAMES.map((table) => read.selectFrom(table).selectAll().execute()));
  expect(JSON.stringify(rows).match(new RegExp(`note of (${erased.id}|${deleted.id})`))).toBeNull();

  const file = await (await other.legate.ledger.export({})).text();
  expect(verifyExport(linesOf(file), policy)).toMatchObject({ unexplained: [], unrecorded: [], explained: DECISIONS });
  expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
  for (const id of ids.get(kept)?.slice(0, 3) ?? [])
    expect(verifyProof(await t.legate.ledger.proof(id), policy).entry.private).toMatchObject({
      parameters: JSON.stringify({ note: `note of ${kept.id}` }),
    });
});

it('a check never reports an entry that is erased while it runs', async () => {
  const t = await createTestService({ config });
  const admin = await t.admin();
  const agent = await t.agent(await t.user(), { permissions });
  const request = { action: 'read', resource: 'db:x', arguments: { note: 'x' } };
  const r = await t.call('POST', '/authorize/batch', { as: agent, body: { requests: Array(20).fill(request) } });
  const ids: string[] = r.body.results.map((result: { auditId: string }) => result.auditId);
  await t.legate.ledger.proof(ids.at(-1) as string);
  let isOver = false;
  const checks = (async () => {
    while (!isOver) expect(await checkSealedLedger(t.legate.platform)).not.toHaveProperty('problem');
  })();
  for (const [i, id] of ids.entries()) {
    const body = { auditIds: [id], what: i % 2 ? 'entry' : 'private' };
    expect((await t.call('POST', '/audit/erasures', { as: admin, body })).status).toBe(200);
  }
  isOver = true;
  await checks;
});
