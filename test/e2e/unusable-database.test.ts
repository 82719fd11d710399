import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { legate, root } from '../support/cli.ts';

describe('legate with a database that cannot be used', () => {
  const unusable: [string, Record<string, string>, number, string][] = [
    ['an impossible data folder', { LEGATE_DATA_DIR: join(root, 'package.json/data') }, 1, 'LEGATE_DATA_DIR'],
    [
      'a SQLite file that cannot be created',
      { LEGATE_DATABASE_URL: `sqlite:${join(root, 'package.json/legate.db')}` },
      1,
      'LEGATE_DATABASE_URL',
    ],
    ['a data folder that is a file', { LEGATE_DATA_DIR: join(root, 'package.json') }, 1, 'is a file. Name a folder.'],
    ['a data folder below /proc', { LEGATE_DATA_DIR: '/proc/legate' }, 1, 'LEGATE_DATA_DIR (/proc/legate)'],
    [
      'a SQLite file in a folder that does not exist',
      { LEGATE_DATABASE_URL: 'sqlite:/nonexistent/dir/legate.db' },
      1,
      '/nonexistent does not exist',
    ],
    [
      'a SQLite file in a folder at the root that does not exist',
      { LEGATE_DATABASE_URL: 'sqlite:/nonexistent/dir' },
      1,
      '/nonexistent does not exist',
    ],
    ['a file that is not a database', { LEGATE_DATABASE_URL: 'sqlite:.legate/secrets.json' }, 1, 'not a database'],
    [
      'a PostgreSQL that does not respond',
      { LEGATE_DATABASE_URL: 'postgres://legate:pa55word@127.0.0.1:9/legate' },
      1,
      'ECONNREFUSED',
    ],
    [
      'a PostgreSQL with a port that is not a number',
      { LEGATE_DATABASE_URL: 'postgres://legate:pa55word@127.0.0.1:5432,127.0.0.1:543x/legate' },
      1,
      'LEGATE_DATABASE_URL is not valid',
    ],
    [
      'an unsupported kind of database',
      { LEGATE_DATABASE_URL: 'mysql://legate:pa55word@db/legate' },
      78,
      'LEGATE_DATABASE_URL',
    ],
  ];
  it.each(unusable)('exits with a sentence for %s', async (_, env, expected, named) => {
    const { code, stdout, stderr } = await legate(['serve'], { env });
    expect([code, stdout]).toEqual([expected, '']);
    expect(stderr).toContain(named);
    expect(stderr).not.toMatch(/\n\s+at |pa55word/);
  });

  it.each([
    ['migrate'],
    ['keys list'],
    ['keys rotate'],
    ['keys forget'],
    ['backup copy'],
    ['ledger recover'],
    ['admin token'],
  ])('legate %s exits with a sentence for a PostgreSQL that does not respond', async (command) => {
    const env = {
      LEGATE_DATABASE_URL: 'postgres://legate:pa55word@127.0.0.1:9/legate',
      LEGATE_SECRET: '5a'.repeat(32),
    };
    const { code, stdout, stderr } = await legate(command.split(' '), { env });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(
      'The database cannot be used: connect ECONNREFUSED 127.0.0.1:9. Check LEGATE_DATABASE_URL',
    );
    expect(stderr).not.toMatch(/\n\s+at |pa55word/);
  });
});
