import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { listen } from '../../src/http/node.ts';
import { createTestService } from '../support/service.ts';

const root = resolve(import.meta.dirname, '../..');

it("the README's four requests, by copy and paste: two devices are listed, and one is ended", async () => {
  const block = /<!-- devices:begin -->\s*```bash\n([\s\S]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1] ?? '';
  expect(block.match(/^# \d\./gm)).toHaveLength(4);
  const t = await createTestService();
  const server = await listen(t.legate, { port: 0, host: '127.0.0.1' });
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', block], { env: { ...process.env, BASE: `http://127.0.0.1:${server.port}` } });
  await server.stop(1000);
  expect(stderr).toBe('');
  const [signedUp, signedIn, listed, ended] = stdout.trim().split('\n') as [string, string, string, string];
  expect(JSON.parse(signedUp).user.email).toBe('ada@example.com');
  // The clock stands still, so which of the two is newer is anybody's guess.
  const byCurrent = (a: { current: boolean }, b: { current: boolean }): number => Number(a.current) - Number(b.current);
  expect(JSON.parse(listed).sessions.sort(byCurrent)).toEqual([
    expect.objectContaining({ current: false, device: { browser: 'Safari', os: 'iOS', type: 'mobile' }, ipAddress: '127.0.0.1' }),
    expect.objectContaining({ current: true, device: { browser: 'Chrome', os: 'macOS', type: 'desktop' }, ipAddress: '127.0.0.1' }),
  ]);
  expect(ended).toBe('204');
  expect((await t.call('GET', '/auth/session', { as: JSON.parse(signedIn).token })).status).toBe(401);
});
