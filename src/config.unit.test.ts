import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

describe('addresses of other servers', () => {
  it.each([
    ['LEGATE_MAIL_URL', 'smtp://user:pa#ss@mail.example.com:587'],
    ['LEGATE_MAIL_URL', 'smtps://mail.example.com:99999'],
    ['LEGATE_REDIS_URL', 'redis://:pa#ss@redis.example.com:6379'],
    ['LEGATE_RATE_LIMIT_REDIS_URL', 'redis://[::1'],
    ['LEGATE_LEDGER_PUBLISH', 'https://checkpoints.example.com:99999/add'],
    ['LEGATE_LEDGER_PUBLISH', 'https://user:pass@checkpoints.example.com/add'],
    ['LEGATE_LEDGER_TSA_URL', 'https://tsa.example.com:99999'],
    ['LEGATE_LEDGER_TSA_URL', 'https://user:pass@tsa.example.com'],
    ['LEGATE_BREACH_BASE_URL', 'https://user:pass@breaches.example.com'],
    ['LEGATE_BREACH_BASE_URL', 'https://breaches.example.com/?source=mirror'],
  ])('%s=%s is refused by name, and is not repeated', (name, value) => {
    const read = () => readConfig({ env: { [name]: value } });
    expect(read).toThrow(`${name}: must `);
    expect(read).not.toThrow(value);
  });

  it.each([
    ['LEGATE_MAIL_URL', 'smtp://user%40example.com:pa%23ss@mail.example.com:587'],
    ['LEGATE_REDIS_URL', 'redis://:pa%23ss@redis.example.com:6379/2'],
    ['LEGATE_REDIS_URL', 'redis:///run/redis.sock'],
    ['LEGATE_LEDGER_PUBLISH', 'dir:./checkpoints'],
    ['LEGATE_LEDGER_PUBLISH', 'https://checkpoints.example.com:8443/add?to=a@b'],
    ['LEGATE_LEDGER_TSA_URL', 'http://tsa.example.com/tsr'],
    ['LEGATE_BREACH_BASE_URL', 'https://breaches.example.com/mirror/'],
  ])('%s=%s is accepted', (name, value) => {
    expect(() => readConfig({ env: { [name]: value } })).not.toThrow();
  });
});
