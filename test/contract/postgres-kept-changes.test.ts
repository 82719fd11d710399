import { expect, it } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../support/service.ts';

const AGENTS = 12;

const listed = async (t: TestService, as: TestUser, query = ''): Promise<Json[]> =>
  (await t.call('GET', `/changes?limit=100${query}`, { as })).body;
const agentsIn = (changes: readonly Json[]): string[] => changes.map(({ agentId }) => agentId);

it('a list contains each change as soon as its request is answered, whichever of two instances made it', async () => {
  const one = await createTestService();
  const other = await createTestService({ sameDatabaseAs: one });
  const owner = await one.user();
  const made: string[] = [];
  for (let i = 0; i < AGENTS; i++) {
    const [maker, reader] = i % 3 === 0 ? [one, other] : i % 3 === 1 ? [other, one] : [one, one];
    made.unshift((await maker.agent(owner)).id);
    expect(agentsIn(await listed(reader, owner))).toEqual(made);
  }
});

it('copies every change once, in order, if two instances make changes and list them at the same time', async () => {
  const one = await createTestService();
  const other = await createTestService({ sameDatabaseAs: one });
  const owner = await one.user();
  const work = async (t: TestService): Promise<string[]> => {
    const ids: string[] = [];
    for (let i = 0; i < AGENTS; i++) {
      ids.push((await t.agent(owner)).id);
      if (i % 2 === 0) await listed(t, owner);
    }
    return ids;
  };
  const made = (await Promise.all([work(one), work(other), work(one), work(other)])).flat();
  const changes = await listed(other, owner);
  expect(agentsIn(changes).sort()).toEqual(made.sort());
  const seqs = changes.map(({ seq }) => seq);
  expect(seqs).toEqual([...seqs].sort((a, b) => b - a));
  for (const id of made.slice(0, AGENTS)) expect(agentsIn(await listed(one, owner, `&subject=${id}`))).toEqual([id]);
  const { read } = one.legate.platform.database;
  const rows = await read.selectFrom('changes').select('seq').orderBy('seq', 'desc').execute();
  expect(rows.map(({ seq }) => seq)).toEqual(seqs);
});
