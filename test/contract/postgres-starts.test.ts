import { expect, it } from 'vitest';
import { createTestService } from '../support/service.ts';

it('instances that start at the same time register an MCP server of the configuration once', async () => {
  const t = await createTestService();
  const config = { gateway: { servers: { notes: { url: 'http://127.0.0.1:9/mcp' } } } };
  const started = await Promise.allSettled(
    Array.from({ length: 4 }, () => createTestService({ sameDatabaseAs: t, config })),
  );
  expect(started.filter(({ status }) => status === 'rejected')).toEqual([]);
  const servers = await t.legate.platform.database.read.selectFrom('mcp_servers').select('name').execute();
  expect(servers).toEqual([{ name: 'notes' }]);
});
