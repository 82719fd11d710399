import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { isUnavailable, openDatabase } from '../../src/storage/index.ts';
import { createTestService, newTestDatabase } from '../support/service.ts';
import { until } from '../support/until.ts';

it('a server that refuses the login of the service is 503, until it accepts it again', async () => {
  const place = await newTestDatabase();
  const admin = new pg.Client({ connectionString: place.url });
  await admin.connect();
  const role = `${place.name}_role`;
  await admin.query(`create role ${role} login superuser password 'legate'`);
  onTestFinished(async () => {
    await admin.query(`reassign owned by ${role} to current_user; drop role ${role}`);
    await admin.end();
  });
  const url = new URL(place.url);
  url.username = role;
  url.password = 'legate';
  const t = await createTestService({ databaseUrl: url.href });
  const owner = await t.user();
  const agent = await t.agent(owner, { permissions: [{ resource: 'db:*', actions: ['read'] }] });
  const decide = () => t.authorize(agent, { action: 'read', resource: 'db:x' });
  const list = () => t.call('GET', '/agents', { as: owner });
  expect((await decide()).status).toBe(200);

  await admin.query(`alter role ${role} nologin`);
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role]);
  // The connections that end are one reason for 503; then new ones are refused.
  for (let i = 0; i < 10; i++)
    for (const answer of [await decide(), await list()]) {
      expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true]);
      expect(answer.body.error.code).toMatch(/^(STORAGE|AUDIT)_UNAVAILABLE$/);
    }

  await admin.query(`alter role ${role} login`);
  await until(async () => (await list()).status === 200);
  await until(async () => (await decide()).status === 200);
});

it.each(['username', 'pathname'] as const)('a database that refuses the %s of its URL cannot be used', async (part) => {
  const url = new URL((await newTestDatabase()).url);
  url[part] = '/unknown';
  const error = await openDatabase(url.href, { serviceName: 'legate' }).catch((failed: unknown) => failed);
  expect([String(error), isUnavailable(error)]).toEqual([expect.stringContaining('unknown'), true]);
});
