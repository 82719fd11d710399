import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { findings } from './production.ts';

const scratch = mkdtempSync(join(tmpdir(), 'legate-production-'));
afterAll(() => rmSync(scratch, { recursive: true }));
const of = (env: Record<string, string | undefined>) =>
  findings(
    readConfig({
      env: {
        LEGATE_DATA_DIR: '/srv/legate',
        LEGATE_BASE_URL: 'https://auth.example.com',
        LEGATE_MAIL_URL: 'smtps://mail.example.com',
        ...env,
      },
      production: true,
    }),
  );

describe('settings that production refuses', () => {
  const refused: [string, Record<string, string | undefined>][] = [
    ['LEGATE_BASE_URL', { LEGATE_BASE_URL: undefined }],
    ['LEGATE_BASE_URL', { LEGATE_BASE_URL: undefined, HOST: '0.0.0.0', LEGATE_ALLOW_HTTP: 'true' }],
    ['LEGATE_BASE_URL', { LEGATE_BASE_URL: 'http://localhost:3000' }],
    ['LEGATE_BASE_URL', { LEGATE_BASE_URL: 'http://auth.example.com' }],
    ['LEGATE_BASE_URL', { LEGATE_BASE_URL: 'http://localhost.example.com' }],
    ['LEGATE_BASE_URL', { LEGATE_BASE_URL: 'http://10.0.0.1:3000' }],
    ['LEGATE_HTTP_TRUSTED_PROXIES', { LEGATE_HTTP_TRUSTED_PROXIES: '10.0.0.0/8,0.0.0.0/0' }],
    ['LEGATE_HTTP_TRUSTED_PROXIES', { LEGATE_HTTP_TRUSTED_PROXIES: '::/0' }],
    ['LEGATE_HTTP_TRUSTED_PROXIES', { LEGATE_HTTP_TRUSTED_PROXIES: '::ffff:0:0/96' }],
    ['LEGATE_HTTP_TRUSTED_ORIGINS', { LEGATE_HTTP_TRUSTED_ORIGINS: 'http://app.example.com' }],
    ['LEGATE_METRICS_TOKEN', { LEGATE_METRICS_TOKEN: 'short' }],
  ];
  it.each(refused)('%s: %o', (name, env) => {
    const { refused: found } = of(env);
    expect(found).toEqual([expect.stringContaining(name)]);
    expect(found.join()).not.toContain(env['LEGATE_METRICS_TOKEN'] ?? 'no secret');
  });

  it('email verification is required, but mail is not configured', () => {
    expect(of({ LEGATE_USERS_REQUIRE_EMAIL_VERIFICATION: 'true', LEGATE_MAIL_URL: undefined }).refused).toEqual([
      expect.stringContaining('LEGATE_MAIL_URL'),
    ]);
    expect(of({ LEGATE_USERS_REQUIRE_EMAIL_VERIFICATION: 'true' }).refused).toEqual([]);
  });

  it('other users can read the data folder', () => {
    chmodSync(scratch, 0o755);
    expect(of({ LEGATE_DATA_DIR: scratch }).refused).toEqual([expect.stringContaining(scratch)]);
    chmodSync(scratch, 0o700);
    expect(of({ LEGATE_DATA_DIR: scratch }).refused).toEqual([]);
  });

  it('several problems are reported together', () => {
    expect(
      of({ LEGATE_BASE_URL: undefined, LEGATE_METRICS_TOKEN: 'x', LEGATE_HTTP_TRUSTED_PROXIES: '0.0.0.0/0' }).refused,
    ).toHaveLength(3);
  });

  const accepted: Record<string, string>[] = [
    {},
    { LEGATE_BASE_URL: 'https://other.example.com', HOST: '0.0.0.0' },
    {
      LEGATE_HTTP_TRUSTED_PROXIES: '10.0.0.0/8,192.0.2.1',
      LEGATE_HTTP_TRUSTED_ORIGINS: 'https://app.example.com,http://localhost:5173',
    },
    { LEGATE_METRICS_TOKEN: '0123456789abcdef' },
  ];
  it.each(accepted)('not refused: %o', (env) => {
    expect(of(env)).toEqual({ refused: [], warnings: [] });
  });
});

describe('settings that production warns about', () => {
  const warned: [string, Record<string, string | undefined>][] = [
    ['LEGATE_MAIL_URL', { LEGATE_MAIL_URL: undefined }],
    ['LEGATE_ALLOW_HTTP', { LEGATE_BASE_URL: 'http://localhost:3000', LEGATE_ALLOW_HTTP: 'true' }],
    ['temporary', { LEGATE_DATA_DIR: join(scratch, 'x') }],
    ['temporary', { LEGATE_DATABASE_URL: 'sqlite:/tmp/x.db' }],
    ['LEGATE_USERS_SIGN_UP', { LEGATE_USERS_SIGN_UP: 'open' }],
    ['LEGATE_LOG_LEVEL', { LEGATE_LOG_LEVEL: 'silent' }],
  ];
  it.each(warned)('%s: %o', (name, env) => {
    expect(of(env)).toEqual({ refused: [], warnings: [expect.stringContaining(name)] });
  });
});
