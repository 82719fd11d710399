import { describe, expect, it } from 'vitest';
import { BoundedPool } from './bounded-pool.ts';
import { DUMMY_HASH, hashPassword, verifyPassword } from './password.ts';

describe('passwords', () => {
  it('an unknown user is checked against a hash of the same cost', async () => {
    const cost = (hash: string): (string | number)[] => {
      const [, type = '', version = '', parameters = '', salt = '', digest = ''] = hash.split('$');
      return [type, version, parameters, salt.length, digest.length];
    };
    expect(cost(DUMMY_HASH)).toEqual(cost(await hashPassword('correct horse battery')));
    expect(await verifyPassword(null, 'correct horse battery')).toBe(false);
    expect(await verifyPassword(DUMMY_HASH, 'no password at all')).toBe(false);
  });
});

describe('BoundedPool', () => {
  it('runs at most two tasks at a time, in order, and refuses more than it can queue', async () => {
    const pool = new BoundedPool(2, 3, () => new Error('full'));
    let running = 0;
    let most = 0;
    const order: number[] = [];
    const release: (() => void)[] = [];
    const task = (i: number) => async (): Promise<number> => {
      running++;
      most = Math.max(most, running);
      order.push(i);
      await new Promise<void>((resolve) => release.push(resolve));
      running--;
      return i;
    };
    const all = Array.from({ length: 7 }, (_, i) => pool.run(task(i)).catch((error: Error) => error.message));
    for (let i = 0; i < 5; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      release.shift()?.();
    }
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4, 'full', 'full']);
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(most).toBe(2);
  });

  it('a task that fails frees its slot', async () => {
    const pool = new BoundedPool(1, 1, () => new Error('full'));
    await expect(pool.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(pool.run(async () => 'fine')).resolves.toBe('fine');
  });
});
