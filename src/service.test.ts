import { afterEach, describe, expect, it, vi } from 'vitest';
import { createTestService, newTestDatabase } from '../test/support/service.ts';
import { CountedEndpointLimits } from './http/rate-limit/index.ts';
import { EventIndex, Ledger } from './ledger/index.ts';
import { createLegate } from './service.ts';

afterEach(() => vi.restoreAllMocks());

const closing = () => [
  vi.spyOn(EventIndex.prototype, 'stop'),
  vi.spyOn(Ledger.prototype, 'close'),
  vi.spyOn(CountedEndpointLimits.prototype, 'close'),
];

describe('createLegate', () => {
  it('closes everything that it has opened when the first administrator cannot be created', async () => {
    const closed = closing();
    const admin = { email: 'root@example.com', password: 'password1234' };
    await expect(createTestService({ config: { admin } })).rejects.toThrow('admin.password');
    for (const spy of closed) expect(spy).toHaveBeenCalledTimes(1);
  });

  it('closes the rest if one part fails to close, and closes once if it is called several times', async () => {
    const { dir, url, name } = await newTestDatabase();
    const legate = await createLegate({ dataDir: dir, databaseUrl: url, service: { name } }, { env: {} });
    const [index, ledger, limits] = closing();
    index?.mockRejectedValueOnce(new Error('disk is full'));
    const attempts = await Promise.allSettled([legate.close(), legate.close()]);
    expect(attempts.map((a) => (a.status === 'rejected' ? a.reason.message : a.status))).toEqual(
      Array(2).fill('disk is full'),
    );
    for (const spy of [index, ledger, limits]) expect(spy).toHaveBeenCalledTimes(1);
    await expect(legate.platform.database.read.selectFrom('users').select('id').execute()).rejects.toThrow();
  });
});
