import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/storage/index.ts';
import { legate, scratchFolder, serve, signUp } from '../support/cli.ts';
import { startPostgres } from '../support/postgres-server.ts';
import type { Running } from '../support/process.ts';
import type { Json } from '../support/service.ts';

interface Answer {
  readonly status: number;
  readonly body: Json;
}

async function call(running: Running, method: string, path: string, token?: string, body?: unknown): Promise<Answer> {
  const r = await fetch(`${running.url}${path}`, {
    method,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: r.status, body: await r.json() };
}

async function team(running: Running): Promise<{ owner: string; token: string; agent: string }> {
  const { id: owner, token } = await signUp(running.url);
  const made = await call(running, 'POST', '/agents', token, {
    ownerId: owner,
    name: 'a',
    type: 'service',
    permissions: [{ resource: 'db:*', actions: ['read'] }],
  });
  expect(made.status).toBe(201);
  return { owner, token, agent: made.body.token as string };
}

const ask = (running: Running, agent: string, more: object = {}): Promise<Answer> =>
  call(running, 'POST', '/authorize', agent, { action: 'read', resource: 'db:x', ...more });

/** Checks that every answered id is recorded once, and that the sequence has no gap. */
async function verify(url: string, answered: readonly string[]): Promise<void> {
  const database = await openDatabase(url, { serviceName: 'legate' });
  const rows = await database.read.selectFrom('stream_events').select(['seq', 'id']).orderBy('seq').execute();
  await database.close();
  expect(rows.map((r) => r.seq)).toEqual(rows.map((_, i) => i + 1));
  const ids = new Set(rows.map((r) => r.id));
  expect(ids.size).toBe(rows.length);
  expect(answered.filter((id) => !ids.has(id))).toEqual([]);
}

const mounted: string[] = [];
afterEach(() => {
  for (const folder of mounted.splice(0)) execFileSync('umount', ['-l', folder]);
});

/** Mounts a small file system at `folder`. Returns false if this user may not mount file systems. */
function mountSmall(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'legate-test', folder], { stdio: 'pipe' });
  } catch {
    return false;
  }
  mounted.push(folder);
  return true;
}

describe('a service whose disk fails', () => {
  it('refuses with 503 while the disk is full or read-only, and recovers by itself', async () => {
    const folder = scratchFolder();
    if (!mountSmall(folder)) {
      console.log(
        'not run: this user may not mount a file system here; test/contract/faults.test.ts tests a full and a ' +
          'read-only database by pragma',
      );
      return;
    }
    const cwd = scratchFolder();
    const env = { LEGATE_DATABASE_URL: `sqlite:${join(folder, 'legate.db')}` };
    const running = await serve({ cwd, env });
    const { owner, token, agent } = await team(running);
    const answered: string[] = [];
    const allowed = async (): Promise<void> => {
      const r = await ask(running, agent);
      expect([r.status, r.body.allowed]).toEqual([200, true]);
      answered.push(r.body.auditId);
    };
    await allowed();

    const ballast = join(folder, 'ballast');
    fill(ballast);
    let full: Answer | undefined;
    for (let i = 0; i < 400 && !full; i++) {
      const r = await ask(running, agent, { arguments: { text: 'y'.repeat(8000) } });
      if (r.status === 200) answered.push(r.body.auditId);
      else full = r;
    }
    expect([full?.status, full?.body.error.code, full?.body.allowed]).toEqual([503, 'AUDIT_UNAVAILABLE', undefined]);
    for (let i = 0; i < 5; i++)
      expect((await ask(running, agent, { arguments: { text: 'y'.repeat(8000) } })).status).toBe(503);
    expect((await call(running, 'GET', '/audit?limit=1', token)).status).toBe(200);
    expect((await call(running, 'GET', '/health/live')).status).toBe(200);
    const backup = await legate(['backup', join(folder, 'backup')], { cwd, env });
    expect([backup.code, backup.stdout, backup.stderr]).toEqual([
      1,
      '',
      'A file cannot be written (ENOSPC: no space left on device, write). Make room, or make the folder writable.\n',
    ]);
    await rm(ballast);
    await allowed();
    const saved = join(cwd, 'backup');
    expect((await legate(['backup', saved], { cwd, env })).code).toBe(0);
    const restored = { LEGATE_DATABASE_URL: `sqlite:${join(folder, 'restored.db')}` };
    const restore = await legate(['restore', saved], { cwd, env: restored });
    expect([restore.code, restore.stderr]).toEqual([
      1,
      'The database has no room (database or disk is full). Make room, and run the command again.\n',
    ]);
    for (const end of ['', '-shm', '-wal']) await rm(join(folder, `restored.db${end}`));

    // A file open for writing keeps the file system writable, so the change must be forced.
    let readOnly = true;
    try {
      execFileSync('mount', ['-o', 'remount,ro', folder], { stdio: 'pipe' });
    } catch {
      readOnly = false;
    }
    if (readOnly) {
      const r = await ask(running, agent);
      expect([r.status, r.body.allowed]).toEqual([503, undefined]);
      const created = await call(running, 'POST', '/agents', token, { ownerId: owner, name: 'n', type: 'service' });
      expect([created.status, created.body.error.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
      execFileSync('mount', ['-o', 'remount,rw', folder]);
    }
    await allowed();
    expect(await running.stop()).toBe(0);

    execFileSync('mount', ['-o', 'remount,ro', folder]);
    const refused = await legate(['serve'], { cwd, env });
    execFileSync('mount', ['-o', 'remount,rw', folder]);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(
      /legate\.db is read-only for this user\. Make the file and its folder writable\.\n$/,
    );

    await verify(env.LEGATE_DATABASE_URL, answered);
    console.log(
      'full disk: a separate file system; read-only: ' +
        `${readOnly ? 'the same, remounted' : 'by pragma only, because it cannot be remounted while files are open'}`,
    );
  });
});

/** Writes until the file system is full. */
function fill(file: string): void {
  for (let size = 64 * 1024; size >= 512; size /= 2) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}

describe('a service whose PostgreSQL is stopped under load', () => {
  it('refuses with 503, stays alive, is not ready, and recovers by itself without a restart', async () => {
    const postgres = await startPostgres();
    try {
      const cwd = scratchFolder();
      const env = { LEGATE_DATABASE_URL: postgres.url };
      const running = await serve({ cwd, env });
      const { agent } = await team(running);
      const answered: string[] = [];
      const others: Answer[] = [];
      let stop = false;
      const load = Array.from({ length: 8 }, async () => {
        while (!stop) {
          const r = await ask(running, agent);
          if (r.status === 200) answered.push(r.body.auditId);
          else others.push(r);
        }
      });
      for (let round = 0; round < 2; round++) {
        const before = answered.length;
        await expect.poll(() => answered.length, { timeout: 60_000 }).toBeGreaterThan(before + 50);
        await postgres.stop();
        const refused = others.length;
        const during = answered.length;
        await expect.poll(() => others.length, { timeout: 60_000 }).toBeGreaterThan(refused + 20);
        // Responses sent before the stop may still have arrived.
        expect(answered.length).toBeLessThanOrEqual(during + 8);
        expect((await call(running, 'GET', '/health/ready')).status).toBe(503);
        expect((await call(running, 'GET', '/health/live')).status).toBe(200);
        await postgres.start();
      }
      const before = answered.length;
      await expect.poll(() => answered.length, { timeout: 60_000 }).toBeGreaterThan(before + 50);
      stop = true;
      await Promise.all(load);
      expect((await call(running, 'GET', '/health/ready')).status).toBe(200);
      expect(running.process.exitCode).toBe(null);
      for (const r of others)
        expect([
          r.status,
          r.body.allowed,
          ['AUDIT_UNAVAILABLE', 'STORAGE_UNAVAILABLE'].includes(r.body.error.code),
        ]).toEqual([503, undefined, true]);
      expect(await running.stop()).toBe(0);
      await verify(postgres.url, answered);
    } finally {
      await postgres.remove();
    }
  });
});
