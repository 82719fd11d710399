import { vi } from 'vitest';
import { SYSTEM } from '../../src/access/actor.ts';
import type { TestService } from './service.ts';
import { untilPasses } from './until.ts';

/**
 * Makes requests at the same time: each is authenticated, and has read what it reads beforehand, before any of them
 * changes anything. Their changes then run in this order. Returns their answers.
 */
export async function inTurn<T>(t: TestService, ...requests: (() => Promise<T>)[]): Promise<T[]> {
  const { ledger } = t.legate.platform;
  const answers: Promise<T>[] = [];
  const changing = vi.spyOn(ledger, 'change');
  await ledger.change(SYSTEM, async () => {
    for (const request of requests) {
      const before = changing.mock.calls.length;
      answers.push(request());
      await untilPasses(() => {
        if (changing.mock.calls.length === before) throw new Error('the request changes nothing');
      });
    }
  });
  changing.mockRestore();
  return Promise.all(answers);
}
