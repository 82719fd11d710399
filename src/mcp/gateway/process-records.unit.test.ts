import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { endLeftGroups, recordGroup } from './process-records.ts';
import { GROUP_VARIABLE } from './watchdog.ts';

const children: ChildProcess[] = [];
/** Starts a process that does nothing, in its own process group. */
const start = (mark = ''): ChildProcess & { pid: number } => {
  const env = { [GROUP_VARIABLE]: mark };
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { detached: true, env, stdio: 'ignore' });
  children.push(child);
  return child as ChildProcess & { pid: number };
};
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Records a process. `change` has members of the record to replace. */
function recorded(child: { pid: number }, change: { server?: object; gateway?: object } = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'legate-records-'));
  const remove = recordGroup(dataDir, child.pid, 'mark');
  const path = join(dataDir, 'gateway-processes', `${child.pid}.json`);
  const { server, gateway, mark } = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(
    path,
    JSON.stringify({ server: { ...server, ...change.server }, gateway: { ...gateway, ...change.gateway }, mark }),
  );
  return { dataDir, path, remove };
}

describe('recorded process groups', () => {
  it('end at the next start after the gateway was killed', async () => {
    const child = start();
    const { dataDir, path } = recorded(child, { gateway: { started: 'before' } });
    const ended = once(child, 'exit');
    endLeftGroups(dataDir);
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(existsSync(path)).toBe(false);
  });

  it.runIf(process.platform === 'linux')(
    'end together with processes that they have started in other groups',
    async () => {
      const [child, marked, other] = [start(), start('mark'), start('mark of another')];
      const { dataDir } = recorded(child, { gateway: { started: 'before' } });
      const ended = once(marked, 'exit');
      endLeftGroups(dataDir);
      expect(await ended).toEqual([null, 'SIGKILL']);
      expect([other.exitCode, other.signalCode]).toEqual([null, null]);
    },
  );

  it('are kept while their gateway runs', async () => {
    const child = start();
    const { dataDir, path, remove } = recorded(child);
    const ended = once(child, 'exit');
    endLeftGroups(dataDir);
    expect(existsSync(path)).toBe(true);
    child.kill('SIGTERM');
    expect(await ended).toEqual([null, 'SIGTERM']);
    remove();
    expect(existsSync(path)).toBe(false);
  });

  it('are not confused with a later process of the same id, nor read from a damaged record', async () => {
    const child = start();
    const { dataDir } = recorded(child, { gateway: { started: 'before' }, server: { started: 'before' } });
    writeFileSync(join(dataDir, 'gateway-processes', '7.json'), '{"server":{"pid":-1}}');
    const ended = once(child, 'exit');
    endLeftGroups(dataDir);
    expect(readdirSync(join(dataDir, 'gateway-processes'))).toEqual([]);
    child.kill('SIGTERM');
    expect(await ended).toEqual([null, 'SIGTERM']);
  });
});
