import { expect, it } from 'vitest';
import { createTestService, type Json } from '../../../test/support/service.ts';

const read = (resource: string, maxCallsPerHour?: number) => ({
  resource,
  actions: ['read'],
  ...(maxCallsPerHour === undefined ? {} : { constraints: { maxCallsPerHour } }),
});

it('a preview shows the loss if several limits on calls become one, unless it is as high as all of them', async () => {
  const t = await createTestService();
  const owner = await t.user();
  const agent = await t.agent(owner, { permissions: [read('files:a', 5), read('files:b', 5)] });
  const lost = async (...permissions: object[]): Promise<string[]> => {
    const r = await t.call('PATCH', `/agents/${agent.id}?preview=true`, { as: owner, body: { permissions } });
    return r.body.loses.flatMap((loss: Json) => loss.permissions.map((p: Json) => p.resource));
  };
  expect(await lost(read('files:*', 5))).toEqual(['files:b']);
  expect(await lost(read('files:*', 9))).toEqual(['files:b']);
  expect(await lost(read('files:*', 10))).toEqual([]);
  expect(await lost(read('files:*', 5), read('files:*', 5))).toEqual([]);
  expect(await lost(read('files:*', 5), read('files:b'))).toEqual([]);
  // The wider limit is left for the permission that nothing else covers.
  expect(await lost(read('files:*', 5), read('files:a', 9))).toEqual([]);
});
