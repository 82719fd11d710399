import { onTestFinished, vi } from 'vitest';
import { Dispatcher, dispatcherOf } from '../../src/activity/webhooks/dispatcher.ts';
import type { TestService } from './service.ts';

/**
 * Returns a function that runs a queue of webhooks once. Nothing else runs it, and the queue of the service does
 * nothing until the end of the test. `storing` is called each time before the queue stores what it has read, and by
 * nothing else.
 */
export function ownQueue({ legate: { platform } }: TestService, storing: () => Promise<void>): () => Promise<boolean> {
  const spy = vi.spyOn(dispatcherOf(platform), 'run').mockResolvedValue(false);
  const { ledger } = platform;
  const hooked = new Proxy(ledger, {
    get(target, name) {
      if (name === 'maintain')
        return async (work: Parameters<typeof ledger.maintain>[0]) => {
          await storing();
          return target.maintain(work);
        };
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  const queue = new Dispatcher({ ...platform, ledger: hooked });
  const byItself = vi.spyOn(queue, 'run').mockResolvedValue(false);
  onTestFinished(async () => {
    spy.mockRestore();
    byItself.mockRestore();
    await queue.stop();
  });
  return () => Dispatcher.prototype.run.call(queue);
}
