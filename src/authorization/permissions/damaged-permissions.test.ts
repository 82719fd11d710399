import { expect, it } from 'vitest';
import { createTestService, type Json } from '../../../test/support/service.ts';

const permissions = [{ resource: 'db:*', actions: ['read'] }];
const question = { action: 'read', resource: 'db:x' };

it('damaged permissions reject the decisions on their agent, which is still listed, repaired and revoked', async () => {
  const t = await createTestService();
  const owner = await t.user();
  const [sound, damaged, other] = [
    await t.agent(owner, { permissions }),
    await t.agent(owner, { permissions }),
    await t.agent(owner, { permissions }),
  ];
  for (const agent of [sound, damaged]) expect((await t.authorize(agent, question)).body.allowed).toBe(true);
  for (const [{ id }, text] of [
    [damaged, '{"a":1}'],
    [other, 'not json'],
  ] as const)
    await t.legate.platform.database.write
      .updateTable('agents')
      .set({ permissions: text })
      .where('id', '=', id)
      .execute();

  // An instance that has none of them in memory.
  const fresh = await createTestService({ sameDatabaseAs: t });
  const asked = Array.from({ length: 10 }, () => [sound, damaged, other]).flat();
  const answers = await Promise.all(asked.map((agent) => fresh.authorize(agent, question)));
  for (const [i, { status, body }] of answers.entries())
    if (asked[i] === sound) expect([status, body.allowed]).toEqual([200, true]);
    else expect([status, body.error]).toEqual([500, expect.objectContaining({ code: 'INTERNAL_ERROR' })]);
  expect(answers[1]?.body.error.message).toMatch(/^The permissions of the agent cannot be read from the database\./);

  const requests = [sound, damaged, sound].map(({ id: agentId }) => ({ agentId, ...question }));
  const { results } = (await fresh.call('POST', '/authorize/batch', { as: owner, body: { requests } })).body;
  expect(results.map((r: Json) => r.allowed ?? r.error.code)).toEqual([true, 'INTERNAL_ERROR', true]);
  expect(answers[1]?.body.error.details.id).toMatch(/^req_/);
  const evaluations = [damaged, sound].map(({ id }) => ({
    subject: { type: 'agent', id },
    action: { name: 'read' },
    resource: { type: 'db', id: 'x' },
  }));
  const evaluated = await fresh.call('POST', '/access/v1/evaluations', { as: owner, body: { evaluations } });
  expect(evaluated.body.evaluations.map((e: Json) => [e.decision, e.context?.error?.status])).toEqual([
    [false, 500],
    [true, undefined],
  ]);
  const found = await fresh.call('GET', '/permissions/subjects?action=read&resource=db:x', { as: owner });
  expect(found.body.map(({ agentId }: Json) => agentId)).toEqual([sound.id]);

  const listed = (await t.call('GET', '/agents', { as: owner })).body;
  const shown = listed.map(({ id, permissions: shown }: { id: string; permissions: object[] }) => [id, shown.length]);
  expect(new Map(shown)).toEqual(
    new Map([
      [sound.id, 1],
      [damaged.id, 0],
      [other.id, 0],
    ]),
  );

  const repaired = await t.agent(owner, { permissions });
  await t.legate.platform.database.write
    .updateTable('agents')
    .set({ permissions: 'not json' })
    .where('id', '=', repaired.id)
    .execute();
  const repair = await t.call('PATCH', `/agents/${repaired.id}`, { as: owner, body: { permissions } });
  expect([repair.status, (await t.authorize(repaired, question)).body.allowed]).toEqual([200, true]);
  for (const { id } of [damaged, other])
    expect((await t.call('DELETE', `/agents/${id}?preview=true`, { as: owner })).status).toBe(200);

  // A change of a damaged agent, which the first instance has in memory.
  for (const { id } of [damaged, other])
    expect((await t.call('DELETE', `/agents/${id}`, { as: owner })).status).toBe(204);
  for (const service of [t, fresh]) expect((await service.authorize(sound, question)).body.allowed).toBe(true);
});
