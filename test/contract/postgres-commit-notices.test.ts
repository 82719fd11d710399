import { sql } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SharedReads } from '../../src/activity/stream/shared-reads.ts';
import type { Log } from '../../src/platform.ts';
import { createTestService, newTestDatabase, type TestService } from '../support/service.ts';
import { openStream } from '../support/stream.ts';
import { startTransactionPooler } from '../support/transaction-pooler.ts';
import { untilPasses } from '../support/until.ts';

const noticesOf = (t: TestService) => {
  const { notices } = t.legate.platform.ledger;
  if (!notices) throw new Error('this is a test for PostgreSQL');
  return notices;
};

/** Waits until notices from `from` reach `to`, which has a stream. */
const connected = async (from: TestService, to: TestService): Promise<void> => {
  for (const t of [from, to]) noticesOf(t).start();
  const ready = () => noticesOf(to).connected && noticesOf(from).connected && noticesOf(from).watched;
  await untilPasses(() => expect(ready()).toBe(true));
};

/** For services created after this call, event streams find commits of other instances only through notices. */
function withoutPolling(): void {
  const real = globalThis.setInterval;
  const spy = vi
    .spyOn(globalThis, 'setInterval')
    .mockImplementation(((run: () => void, ms: number) =>
      real(run, [150, 1000].includes(ms) ? 600_000 : ms)) as typeof setInterval);
  onTestFinished(() => spy.mockRestore());
}

describe('commits of other instances', () => {
  it('reach a stream through notices, even after the connection for them was lost', async () => {
    withoutPolling();
    const a = await createTestService();
    const b = await createTestService({ sameDatabaseAs: a });
    const alice = await a.user();
    const stream = await openStream(a, { as: alice.token, query: 'types=agent.created' });
    await connected(b, a);
    await b.agent(alice);
    await stream.events(1);

    const { database } = a.legate.platform;
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'legate-listener' and datname = current_database()`.execute(database.read);
    await untilPasses(() => expect(noticesOf(a).connected).toBe(false));
    await connected(b, a);
    await b.agent(alice);
    await stream.events(2);
    await stream.close();
  });

  it('are announced only to instances with streams, which share one query for them', async () => {
    withoutPolling();
    // The detector of anomalies is off, because it reads commits of other instances too.
    const config = { anomalies: { enabled: false } };
    const a = await createTestService({ config });
    const b = await createTestService({ config, sameDatabaseAs: a });
    const alice = await a.user();
    for (const t of [a, b]) noticesOf(t).start();
    await untilPasses(() => expect(noticesOf(a).connected && noticesOf(b).connected).toBe(true));
    expect(noticesOf(b).watched).toBe(false);

    const query = 'types=agent.created';
    const streams = await Promise.all(Array.from({ length: 20 }, () => openStream(a, { as: alice.token, query })));
    await connected(b, a);
    expect(noticesOf(a).watched).toBe(false);
    const read = vi.spyOn(SharedReads.prototype, 'page');
    const queries = vi.spyOn(a.legate.platform.database.read, 'selectFrom');
    onTestFinished(() => void vi.restoreAllMocks());
    await b.agent(alice);
    for (const stream of streams) await stream.events(1);
    expect(read).toHaveBeenCalledTimes(20);
    expect(queries.mock.calls.filter(([table]) => table === 'stream_events')).toHaveLength(1);
    for (const stream of streams) await stream.close();
  });

  it('are found by polling if a pooler is in between, which is logged once', async () => {
    const { url } = await newTestDatabase();
    const pooler = await startTransactionPooler(url);
    onTestFinished(() => pooler.close());
    const said: string[] = [];
    const log: Log = {
      debug: () => {},
      info: () => {},
      warn: (_, message) => void said.push(message),
      error: (_, message) => void said.push(message),
    };
    const t = await createTestService({ databaseUrl: pooler.url, log });
    noticesOf(t).start();
    noticesOf(t).start();
    expect(said.filter((message) => message.includes('pooler'))).toHaveLength(1);
    expect(noticesOf(t).connected).toBe(false);
    const alice = await t.user();
    const stream = await openStream(t, { as: alice.token, query: 'types=agent.created' });
    await t.agent(alice);
    await stream.until(() => stream.seen.length === 1);
    await stream.close();
  });
});
