import { expect, it } from 'vitest';
import { guardingLegate } from '../../../test/support/guarding-legate.ts';
import { Guard } from './guard.ts';

const ENDPOINT = 'https://app.example/mcp';

it('a handler that changes what it got about its caller does not change it for later requests', async () => {
  const guard = new Guard({
    legate: guardingLegate(['mcp:read']),
    server: { name: 'notes', endpoint: ENDPOINT },
  });
  const authOf = async () => {
    const verdict = await guard.judge({
      method: 'POST',
      header: (name) => (name === 'authorization' ? 'Bearer token' : null),
      origin: { ip: undefined, userAgent: undefined },
      body: () => ({ parsed: { jsonrpc: '2.0', id: 1, method: 'ping' } }),
    });
    return 'passed' in verdict ? verdict.passed.auth : undefined;
  };
  const first = await authOf();
  expect(first?.resource.href).toBe(ENDPOINT);
  if (first) first.resource.pathname = '/other';
  first?.scopes.push('mcp:all');
  expect(await authOf()).toMatchObject({ resource: new URL(ENDPOINT), scopes: ['mcp:read'] });
  expect((await authOf())?.resource.href).toBe(ENDPOINT);
});
