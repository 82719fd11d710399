import { describe, expect, it, onTestFinished } from 'vitest';
import { createTestService } from '../../test/support/service.ts';
import type { Log } from '../platform.ts';

describe('an outage of the database', () => {
  it('responds with 503 and Retry-After, and is logged at most once a second', async () => {
    const lines: object[] = [];
    const note = (fields: object, message: string): void => void lines.push({ ...fields, message });
    const log: Log = { debug: () => {}, info: () => {}, warn: note, error: note };
    const t = await createTestService({ log });
    const alice = await t.user();
    const agent = await t.agent(alice, { permissions: [{ resource: 'x', actions: ['read'] }] });
    await t.legate.platform.database.close();
    const startedAt = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        i % 2 === 0
          ? t.call('GET', '/agents', { as: alice })
          : t.call('POST', '/authorize', { as: agent, body: { action: 'read', resource: 'x' } }),
      ),
    );
    for (const r of answers) expect([r.status, r.headers.get('retry-after')]).toEqual([503, '1']);
    const seconds = Math.ceil((performance.now() - startedAt) / 1000);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(seconds + 1);
  });

  it.each(['createdAt', '-createdAt', 'name'] as const)(
    'ends a list in the order %s with one error, of which no part stays unhandled',
    async (sort) => {
      const unhandled: unknown[] = [];
      const note = (reason: unknown): void => void unhandled.push(reason);
      process.on('unhandledRejection', note);
      onTestFinished(() => void process.off('unhandledRejection', note));
      const t = await createTestService();
      await t.legate.platform.database.close();
      await expect(t.legate.agents.list({ sort })).rejects.toThrow();
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    },
  );
});
