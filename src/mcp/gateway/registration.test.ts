import { expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';
import type { ConfigInput } from '../../config.ts';

const config = (baseUrl: string): ConfigInput => ({
  baseUrl,
  gateway: { servers: { notes: { url: 'http://127.0.0.1:9/mcp' } } },
});
const ADDRESS = 'https://auth.example.com';
const METADATA = '/.well-known/oauth-protected-resource/gateway/notes/mcp';

it('a command with another base URL leaves the address of a server as the service has it', async () => {
  const t = await createTestService({ config: config(ADDRESS) });
  const command = await createTestService({
    sameDatabaseAs: t,
    serves: false,
    config: config('http://localhost:3000'),
  });
  await command.legate.close();
  expect((await t.call('GET', METADATA)).body).toMatchObject({ resource: `${ADDRESS}/gateway/notes/mcp` });
});

it('an instance with another base URL changes the address', async () => {
  const t = await createTestService({ config: config('http://localhost:3000') });
  const moved = await createTestService({ sameDatabaseAs: t, config: config(ADDRESS) });
  expect((await moved.call('GET', METADATA)).body).toMatchObject({ resource: `${ADDRESS}/gateway/notes/mcp` });
});
