import { expect, it, onTestFinished, vi } from 'vitest';
import type { PostgresDatabase, PostgresListener } from '../storage/index.ts';
import { CommitNotices } from './commit-notices.ts';

it('leaves no timer and calls no listener if it is closed while it begins to listen', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const client: PostgresListener = {
    query: async () => {
      closed ??= notices.close();
    },
    on: () => {},
    end: vi.fn(async () => {}),
  };
  const database = { prefix: 'legate_', session: { direct: true }, connectListener: async () => client };
  const notices = new CommitNotices({
    database: database as unknown as PostgresDatabase,
    instance: 'one',
    onError: () => {},
    onWarning: () => {},
  });
  const listener = vi.fn();
  notices.onNotice(listener);
  let closed: Promise<void> | undefined;
  notices.start();
  await vi.waitFor(() => expect(closed).toBeDefined());
  await closed;
  expect(client.end).toHaveBeenCalled();
  expect([vi.getTimerCount(), listener.mock.calls.length]).toEqual([0, 0]);
});
