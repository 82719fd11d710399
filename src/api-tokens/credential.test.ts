import { expect, test } from 'vitest';
import { createTestService } from '../../test/support/service.ts';

test('an API token of a user proves the user', async () => {
  const t = await createTestService();
  const alice = await t.user();
  const agent = await t.agent(alice);
  expect(agent.body.ownerId).toBe(alice.id);
});
