import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { legate, scratchFolder, serve } from '../support/cli.ts';
import { startPostgres } from '../support/postgres-server.ts';

const ready = async (url: string): Promise<number> => (await fetch(`${url}/health/ready`)).status;

it('legate ledger recover does not end the log of a running service on PostgreSQL', async () => {
  const cwd = scratchFolder();
  const postgres = await startPostgres();
  const env = { LEGATE_DATABASE_URL: postgres.url, LEGATE_SECRET: '0a'.repeat(32), LEGATE_DATA_DIR: join(cwd, 'a') };
  const further = { ...env, LEGATE_DATA_DIR: join(cwd, 'b') };
  try {
    for (const each of [env, further]) {
      const first = await serve({ cwd, env: each });
      // Stores the newest checkpoint in the data folder of this instance too.
      expect((await fetch(`${first.url}/ledger/checkpoint`)).status).toBe(200);
      expect(await first.stop()).toBe(0);
    }
    const running = await serve({ cwd, env });
    const refused = await legate(['ledger', 'recover'], { cwd, env: further });
    expect([refused.code, refused.stdout]).toEqual([78, '']);
    expect(refused.stderr).toMatch(
      /^An instance serves this database on \S+\. Stop the service on all machines first;/,
    );
    expect((await fetch(`${running.url}/ledger/checkpoint`)).status).toBe(200);
    expect(await running.stop()).toBe(0);
    expect((await legate(['ledger', 'recover'], { cwd, env })).stdout).toMatch(/the next start begins another\n$/);
    const again = await serve({ cwd, env });
    expect((await legate(['ledger', 'recover'], { cwd, env: further })).stdout).toMatch(
      /had ended before; \S+ goes on\n$/,
    );
    expect(await again.stop()).toBe(0);
  } finally {
    await postgres.remove();
  }
});

describe('a second process', () => {
  it('on one PostgreSQL with its own data folder or LEGATE_SECRET does not start, and names solutions', async () => {
    const cwd = scratchFolder();
    const postgres = await startPostgres();
    const place = (folder: string, more: Record<string, string> = {}) => ({
      cwd,
      env: { LEGATE_DATABASE_URL: postgres.url, LEGATE_DATA_DIR: join(cwd, folder), PORT: '0', ...more },
    });
    const secret = { LEGATE_SECRET: '0a'.repeat(32) };
    try {
      const { PORT: _, ...first } = place('first').env;
      const running = await serve({ cwd, env: first });
      const other = await legate(['serve'], place('second'));
      expect([other.code, other.stdout]).toEqual([78, '']);
      expect(other.stderr).toMatch(/lacks keys that other instances have used/);
      expect(other.stderr).toMatch(/Copy the secrets\.json of an instance that runs, or set the same LEGATE_SECRET/);
      const withSecret = await legate(['serve'], place('third', secret));
      expect([withSecret.code, withSecret.stdout]).toEqual([78, '']);
      expect(withSecret.stderr).toMatch(/Start one instance with that file and LEGATE_SECRET/);
      expect([await ready(running.url), await running.stop()]).toEqual([200, 0]);

      // The solution: the first folder's keys are moved into the database.
      const keyed = await serve({ cwd, env: { ...first, ...secret } });
      const { PORT: __, ...fourth } = place('fourth', secret).env;
      const next = await serve({ cwd, env: fourth });
      expect([await ready(keyed.url), await ready(next.url)]).toEqual([200, 200]);
      const wrong = await legate(['serve'], place('fifth', { LEGATE_SECRET: '0b'.repeat(32) }));
      expect([wrong.code, wrong.stderr]).toEqual([78, expect.stringMatching(/Set the one of the other instances/)]);
      expect([await next.stop(), await keyed.stop()]).toEqual([0, 0]);
    } finally {
      await postgres.remove();
    }
  });

  it('on the same SQLite file does not start, but commands do; a killed process blocks nothing', async () => {
    const cwd = scratchFolder();
    const elsewhere = { LEGATE_DATA_DIR: join(cwd, 'elsewhere') };
    mkdirSync(elsewhere.LEGATE_DATA_DIR);
    const running = await serve({ cwd });
    const sameFile = { ...elsewhere, LEGATE_DATABASE_URL: `sqlite:${join(cwd, '.legate/legate.db')}` };
    for (const [args, env] of [
      [['serve'], {}],
      [['serve'], sameFile],
      [['gateway', '--', process.execPath, '--version'], {}],
    ] as const) {
      const second = await legate(args, { cwd, env: { PORT: '0', ...env } });
      expect([second.code, second.stdout]).toEqual([78, '']);
      expect(second.stderr).toMatch(
        /^Another process serves .*legate\.db\. Stop it first, or set LEGATE_DATA_DIR .* need PostgreSQL \(LEGATE_DATABASE_URL\)\.\n$/,
      );
    }
    expect((await legate(['developer-token'], { cwd })).code).toBe(0);
    expect((await legate(['backup', join(cwd, 'backup')], { cwd })).code).toBe(0);
    const other = await serve({ cwd, env: elsewhere });
    expect([await ready(running.url), await ready(other.url)]).toEqual([200, 200]);

    const ended = new Promise((resolve) => running.process.once('exit', resolve));
    running.process.kill('SIGKILL');
    await ended;
    const again = await serve({ cwd });
    expect([await again.stop(), await other.stop()]).toEqual([0, 0]);
  });
});
