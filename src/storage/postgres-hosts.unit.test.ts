import { describe, expect, it } from 'vitest';
import { PostgresHosts } from './postgres-hosts.ts';

describe('the hosts of a PostgreSQL URL', () => {
  it('a single host keeps its URL and is not asked whether it accepts writes', () => {
    const url = 'postgres://u:p%40ss@db.example:6432/legate?sslmode=require';
    const hosts = new PostgresHosts(url);
    expect([hosts.urls, hosts.writable, hosts.description]).toEqual([[url], false, 'db.example:6432/legate']);
  });

  it('several hosts become one URL each, with the other parameters of the URL', () => {
    const hosts = new PostgresHosts(
      'postgres://u:p@a:5432,b:5433,[::1]/db?sslmode=require&target_session_attrs=primary',
    );
    expect(hosts.urls).toEqual([
      'postgres://u:p@a:5432/db?sslmode=require',
      'postgres://u:p@b:5433/db?sslmode=require',
      'postgres://u:p@[::1]/db?sslmode=require',
    ]);
    expect([hosts.writable, hosts.description]).toEqual([true, 'a:5432,b:5433,[::1]/db']);
  });

  it('a local socket has no host', () => {
    expect(new PostgresHosts('postgres:///db').description).toBe('local socket/db');
  });

  it.each([
    ['postgres://a,/db', /empty host/],
    ['postgres://a,b/db?target_session_attrs=standby', /target_session_attrs .* any, read-write, primary/],
    ['mysql://a/db', /must be postgres/],
    ['postgres://u:pa55@a:5432,b:543x/db', /^LEGATE_DATABASE_URL is not valid: a host or port is wrong/],
    ['postgres://u:pa55@a:99999/db', /^LEGATE_DATABASE_URL is not valid/],
    ['postgres://u:pa/55@a/db', /must be percent-encoded\.$/],
  ])('refuses %s', (url, message) => {
    expect(() => new PostgresHosts(url)).toThrow(message);
  });
});
