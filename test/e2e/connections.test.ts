import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { legate, scratchFolder, serve } from '../support/cli.ts';
import { startPostgres } from '../support/postgres-server.ts';

describe('a service that gets no connection to PostgreSQL (53300)', () => {
  it('answers 503, allows nothing and is not ready, and continues when there are connections again', async () => {
    const cwd = scratchFolder();
    const postgres = await startPostgres();
    const admin = new pg.Client({ connectionString: postgres.url });
    await admin.connect();
    try {
      await admin.query("create role legate login password 'legate'; grant create on schema public to legate");
      const url = new URL(postgres.url);
      [url.username, url.password] = ['legate', 'legate'];
      const env = { LEGATE_DATABASE_URL: url.href };
      const running = await serve({ cwd, env });
      const send = async (path: string, token: string, body?: object) => {
        const answer = await fetch(`${running.url}${path}`, {
          method: body ? 'POST' : 'GET',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          ...(body ? { body: JSON.stringify(body) } : {}),
        });
        return { status: answer.status, retry: answer.headers.get('retry-after'), text: await answer.text() };
      };
      const made = await legate(['developer-token'], { cwd, env });
      expect([made.code, made.stderr]).toEqual([0, '']);
      const token = made.stdout.trim();
      const { user } = JSON.parse((await send('/auth/session', token)).text);
      const permissions = [{ resource: 'db:*', actions: ['read'] }];
      const created = await send('/agents', token, { ownerId: user.id, name: 'a', type: 'service', permissions });
      const agent = JSON.parse(created.text).token as string;
      const ask = () => send('/authorize', agent, { action: 'read', resource: 'db:x' });
      expect(await ask()).toMatchObject({ status: 200, text: expect.stringContaining('"allowed":true') });

      await admin.query('alter role legate connection limit 0');
      await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'legate'");
      const refused = await Promise.all(Array.from({ length: 40 }, ask));
      expect(refused.filter(({ status, text }) => status !== 503 || text.includes('"allowed"'))).toEqual([]);
      expect(refused.every(({ retry }) => retry !== null)).toBe(true);
      expect((await send('/agents', token)).status).toBe(503);
      expect((await send('/health/ready', token)).status).toBe(503);

      await admin.query('alter role legate connection limit -1');
      await expect.poll(async () => (await ask()).status, { timeout: 60_000 }).toBe(200);
      await expect.poll(async () => (await send('/health/ready', token)).status, { timeout: 60_000 }).toBe(200);
      expect(await running.stop()).toBe(0);
    } finally {
      await admin.end();
      await postgres.remove();
    }
  });
});
