import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { legate, root, scratchFolder, serve, servedFolder, signUp } from '../support/cli.ts';
import { startPostgres } from '../support/postgres-server.ts';
import type { Json } from '../support/service.ts';

/** The pause of a client after each answer, so that the load leaves processor time for the backup. */
const PAUSE_MS = 20;

const headers = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
const send = async (
  url: string,
  path: string,
  token: string,
  body?: object,
): Promise<{ status: number; body: Json }> => {
  const answer = await fetch(`${url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: headers(token),
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: answer.status, body: await answer.json() };
};

async function withAgent(url: string): Promise<{ token: string; agentId: string; agentToken: string }> {
  const { id: ownerId, token } = await signUp(url);
  const { body } = await send(url, '/agents', token, {
    ownerId,
    name: 'reader',
    type: 'service',
    permissions: [{ resource: 'file:*', actions: ['read'] }],
  });
  return { token, agentId: body.id, agentToken: body.token };
}

/** A module that lets key files take ten characters, as a disk that is nearly full. */
const FULL_DISK = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const { writeFileSync } = fs;
  fs.writeFileSync = (file, data, options) => {
    if (!String(file).includes('secrets.json')) return writeFileSync(file, data, options);
    writeFileSync(file, String(data).slice(0, 10), options);
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
  syncBuiltinESMExports();
`)}`;

describe('legate backup and restore', () => {
  it('runs the commands of docs/guides/backup.md', async () => {
    const guide = readFileSync(join(root, 'docs/guides/backup.md'), 'utf8');
    const cwd = await servedFolder();
    const commands = [...guide.matchAll(/^(?:env -u \S+ )?(?:LEGATE_DATA_DIR=\/?(\S+) )?npx legate ([^#\n]+)/gm)];
    expect(commands.map(([, , command]) => command?.split(' ')[0])).toEqual(['backup', 'backup', 'restore', 'restore']);
    mkdirSync(join(cwd, 'backups'));
    for (const [line, folder, command = ''] of commands) {
      const env: Record<string, string> = folder ? { LEGATE_DATA_DIR: join(cwd, folder) } : {};
      const { code, stderr } = await legate(command.trim().split(' '), { cwd, env });
      expect([code, stderr], line).toEqual([0, '']);
    }
  });

  it.each(['SQLite', 'PostgreSQL'])(
    'saves a running service on %s under load and restores it elsewhere, with its keys and every answered decision',
    async (kind) => {
      const cwd = scratchFolder();
      const postgres = kind === 'PostgreSQL' ? await startPostgres() : undefined;
      const env: Record<string, string> = postgres ? { LEGATE_DATABASE_URL: postgres.url } : {};
      try {
        const running = await serve({ cwd, env });
        const { agentId, agentToken, token } = await withAgent(running.url);
        const decide = (url: string) =>
          send(url, '/authorize', agentToken, { agentId, action: 'read', resource: 'file:a' });
        const answered: string[] = [];
        let busy = true;
        const load = Array.from({ length: 4 }, async () => {
          while (busy) {
            const { status, body } = await decide(running.url);
            expect([status, body.allowed]).toEqual([200, true]);
            answered.push(body.auditId);
            await sleep(PAUSE_MS);
          }
        });
        await expect.poll(() => answered.length, { timeout: 60_000 }).toBeGreaterThan(100);
        const before = [...answered];
        const saved = await legate(['backup', 'saved', '--with-secrets'], { cwd, env });
        const during = answered.length - before.length;
        busy = false;
        await Promise.all(load);
        expect([saved.code, saved.stderr]).toEqual([0, '']);
        expect(saved.stdout).toMatch(/saved \d+ rows of \d+ tables, up to entry \d+ of the ledger/);
        expect(during).toBeGreaterThan(0);
        const folder = join(cwd, 'saved');
        for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o077, file).toBe(0);
        await running.stop();

        const elsewhere = scratchFolder();
        const restored = await legate(['restore', folder], { cwd: elsewhere });
        expect([restored.code, restored.stderr]).toEqual([0, '']);
        const second = await serve({ cwd: elsewhere });
        expect((await decide(second.url)).body).toMatchObject({ allowed: true });
        for (const id of before) expect((await send(second.url, `/audit/${id}`, token)).status).toBe(200);
        await second.stop();

        const again = await legate(['restore', folder], { cwd: elsewhere });
        expect([again.code, again.stdout]).toEqual([1, '']);
        expect(again.stderr).toContain('already has data');
      } finally {
        await postgres?.remove();
      }
    },
  );

  it('leaves no part of the keys on a disk that becomes full, and can then be repeated', async () => {
    const cwd = await servedFolder();
    expect((await legate(['backup', 'saved', '--with-secrets'], { cwd })).code).toBe(0);
    const folder = join(cwd, 'saved');
    const elsewhere = scratchFolder();
    const failed = await legate(['restore', folder], {
      cwd: elsewhere,
      env: { NODE_OPTIONS: `--import=${FULL_DISK}` },
    });
    expect([failed.code, failed.stdout]).toEqual([1, '']);
    expect(failed.stderr).toContain('no space left on device');
    const data = join(elsewhere, '.legate');
    expect(readdirSync(data).filter((name) => name.startsWith('secrets'))).toEqual([]);
    expect((await legate(['restore', folder], { cwd: elsewhere })).code).toBe(0);
    const keys = join(data, 'secrets.json');
    expect(readFileSync(keys)).toEqual(readFileSync(join(cwd, '.legate', 'secrets.json')));
    expect(statSync(keys).mode & 0o777).toBe(0o600);
  });

  it('refuses a folder that is not a backup, another installation’s keys, and commands without a folder', async () => {
    const cwd = await servedFolder();
    expect((await legate(['backup', 'saved', '--with-secrets'], { cwd })).code).toBe(0);
    expect((await legate(['backup', 'saved'], { cwd })).stderr).toContain('is not empty');
    expect((await legate(['backup'], { cwd })).code).toBe(64);
    expect((await legate(['restore'], { cwd })).code).toBe(64);
    expect((await legate(['restore', '.'], { cwd })).stderr).toContain('manifest.json cannot be read');
    const other = scratchFolder();
    const { stop } = await serve({ cwd: other });
    await stop();
    const refused = await legate(['restore', join(cwd, 'saved')], { cwd: other });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('has other keys than the backup');
    const empty = scratchFolder();
    const none = await legate(['backup', 'saved'], { cwd: empty });
    expect([none.code, readdirSync(empty)]).toEqual([1, []]);
  });

  it('is restored into the data folder of a lost database, which has a checkpoint of the ended log', async () => {
    const cwd = scratchFolder();
    const first = await serve({ cwd });
    expect((await legate(['backup', 'saved'], { cwd })).code).toBe(0);
    await first.stop();
    for (const file of readdirSync(join(cwd, '.legate')).filter((name) => name.startsWith('legate.db')))
      rmSync(join(cwd, '.legate', file));
    expect((await legate(['restore', 'saved'], { cwd })).code).toBe(0);
    const second = await serve({ cwd });
    const logs = await (await fetch(`${second.url}/ledger/logs`)).json();
    expect(logs).toMatchObject([{ endedAt: null }, { endedAt: expect.any(String) }]);
    await second.stop();
  });

  it('has its keys in place if the restore ends right after the database has the data', async () => {
    const cwd = await servedFolder();
    expect((await legate(['backup', 'saved', '--with-secrets'], { cwd })).code).toBe(0);
    const elsewhere = scratchFolder();
    // The next step reads this file, which is a folder.
    mkdirSync(join(elsewhere, '.legate/ledger-anchor'), { recursive: true });
    expect((await legate(['restore', join(cwd, 'saved')], { cwd: elsewhere })).code).toBe(1);
    expect((await legate(['restore', join(cwd, 'saved')], { cwd: elsewhere })).stderr).toContain('already has data');
    const keysOf = (folder: string) => readFileSync(join(folder, '.legate/secrets.json'), 'utf8');
    expect(keysOf(elsewhere)).toBe(keysOf(cwd));
  });

  it('is not needed for a stopped service: its legate.db alone is complete', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    const { agentId, agentToken } = await withAgent(running.url);
    const question = { agentId, action: 'read', resource: 'file:a' };
    await send(running.url, '/authorize', agentToken, question);
    await running.stop();
    expect(statSync(join(cwd, '.legate/legate.db-wal'), { throwIfNoEntry: false })?.size ?? 0).toBe(0);
    const elsewhere = scratchFolder();
    mkdirSync(join(elsewhere, '.legate'), { mode: 0o700 });
    for (const file of ['legate.db', 'secrets.json'])
      copyFileSync(join(cwd, '.legate', file), join(elsewhere, '.legate', file));
    const second = await serve({ cwd: elsewhere });
    expect((await send(second.url, '/authorize', agentToken, question)).body).toMatchObject({ allowed: true });
    await second.stop();
  });
});
