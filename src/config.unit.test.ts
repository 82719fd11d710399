import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

describe('addresses of other servers', () => {
  it.each([
    ['LEGATE_MAIL_URL', 'smtp://user:pa#ss@mail.example.com:587'],
    ['LEGATE_MAIL_URL', 'smtps://mail.example.com:99999'],
    ['LEGATE_REDIS_URL', 'redis://:pa#ss@redis.example.com:6379'],
    ['LEGATE_RATE_LIMIT_REDIS_URL', 'redis://[::1'],
  ])('%s=%s is refused by name, and is not repeated', (name, value) => {
    const read = () => readConfig({ env: { [name]: value } });
    expect(read).toThrow(`${name}: must be`);
    expect(read).not.toThrow(value);
  });

  it.each([
    ['LEGATE_MAIL_URL', 'smtp://user%40example.com:pa%23ss@mail.example.com:587'],
    ['LEGATE_REDIS_URL', 'redis://:pa%23ss@redis.example.com:6379/2'],
    ['LEGATE_REDIS_URL', 'redis:///run/redis.sock'],
  ])('%s=%s is accepted', (name, value) => {
    expect(() => readConfig({ env: { [name]: value } })).not.toThrow();
  });
});
