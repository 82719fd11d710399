import { expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';

const permissions = [{ resource: 'db:*', actions: ['read'] }];
const question = { action: 'read', resource: 'db:x' };

it('permissions that were damaged in the database reject the decisions on their agent, which is still listed and revoked', async () => {
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

  const listed = (await t.call('GET', '/agents', { as: owner })).body;
  const shown = listed.map(({ id, permissions: shown }: { id: string; permissions: object[] }) => [id, shown.length]);
  expect(new Map(shown)).toEqual(
    new Map([
      [sound.id, 1],
      [damaged.id, 0],
      [other.id, 0],
    ]),
  );

  // A change of a damaged agent, which the first instance has in memory.
  for (const { id } of [damaged, other])
    expect((await t.call('DELETE', `/agents/${id}`, { as: owner })).status).toBe(204);
  for (const service of [t, fresh]) expect((await service.authorize(sound, question)).body.allowed).toBe(true);
});
