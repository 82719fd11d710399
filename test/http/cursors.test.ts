import { expect, it } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import { createTestService } from '../support/service.ts';

const LISTS = [
  ['/agents', 'agent'],
  ['/delegations', 'delegation'],
  ['/approvals', 'approval'],
  ['/costs', 'cost'],
  ['/budgets', 'budget'],
  ['/anomalies', 'anomaly'],
  ['/webhooks', 'webhook'],
  ['/api-tokens', 'apiToken'],
  ['/tenants', 'tenant'],
  ['/invites', 'invite'],
  ['/mcp/servers', 'mcpServer'],
  ['/oauth/grants', 'grant'],
] as const;

it('400: a list refuses the cursor of another list', async () => {
  const t = await createTestService();
  const admin = await t.user({ role: 'admin' });
  const withCursor = async (path: string, id: string) => {
    const cursor = Buffer.from(id).toString('base64url');
    const { status, body } = await t.call('GET', `${path}?cursor=${cursor}`, { as: admin });
    return [path, status, body.error?.details?.issues?.[0]?.path];
  };
  for (const [path, kind] of LISTS) {
    expect(await withCursor(path, newId(kind, t.clock.now()))).toEqual([path, 200, undefined]);
    const other = newId(kind === 'agent' ? 'delegation' : 'agent', t.clock.now());
    expect(await withCursor(path, other)).toEqual([path, 400, 'cursor']);
    expect(await withCursor(path, `${other.slice(0, 4)}x`)).toEqual([path, 400, 'cursor']);
  }
});
