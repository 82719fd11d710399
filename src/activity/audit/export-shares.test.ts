import { expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';

const exportAs = (t: TestService, { token }: { token: string }): Promise<Response> =>
  t.legate.fetch(
    new Request('http://localhost:3000/audit/export?format=ndjson', { headers: { authorization: `Bearer ${token}` } }),
  );

/** Starts exports that are not read until they are canceled. With a single entry they already wait for their reader. */
async function holdExports(t: TestService, as: { token: string }, n: number): Promise<Response[]> {
  const responses = await Promise.all(Array.from({ length: n }, () => exportAs(t, as)));
  return responses.filter((response) => response.status === 200);
}

it('exports of other agents still work when one agent has used its share', async () => {
  const t = await createTestService();
  const [owner, stranger, admin] = [await t.user(), await t.user(), await t.admin()];
  const agent = await t.agent(owner, { permissions: [{ resource: 'legate:audit', actions: ['read'] }] });
  for (const asked of [agent, await t.agent(stranger)])
    await t.authorize(asked, { action: 'read', resource: 'file:1' });
  const held = await holdExports(t, agent, 6);
  expect(held).toHaveLength(3);
  const refused = await exportAs(t, agent);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
  expect(((await refused.json()) as { error: { code: string } }).error.code).toBe('TOO_MANY_EXPORTS');
  // The owner's share is one export larger than the share of each agent.
  held.push(...(await holdExports(t, owner, 3)));
  expect(held).toHaveLength(4);
  held.push(...(await holdExports(t, stranger, 3)));
  expect(held).toHaveLength(5);
  // The last slot is reserved for administrators.
  held.push(...(await holdExports(t, admin, 3)));
  expect(held).toHaveLength(6);
  await Promise.all(held.map((response) => response.body?.cancel()));
  const [again] = await holdExports(t, agent, 1);
  expect((await again?.text())?.trim().split('\n')).toHaveLength(1);
  expect(await holdExports(t, agent, 4)).toHaveLength(3);
});
