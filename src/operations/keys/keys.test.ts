import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dialect, type FakeClock, newTestDatabase, FakeClock as TurnedClock } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import type { Log } from '../../platform.ts';
import { createLegate, type Legate } from '../../service.ts';
import { forgetKeys, KeyStore } from './index.ts';

interface Place {
  readonly url: string;
  readonly name: string;
}

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const newSecret = (): string => randomBytes(32).toString('base64url');
const newFolder = (): string => mkdtempSync(join(tmpdir(), 'legate-keys-'));

/** Starts an instance with its own data folder. */
async function start(
  { url, name }: Place,
  o: { secret?: string; secretPrevious?: string; dataDir?: string; clock?: FakeClock } = {},
): Promise<{ legate: Legate; dataDir: string }> {
  const { clock = new TurnedClock(), dataDir = newFolder(), ...secrets } = o;
  const legate = await createLegate(
    { databaseUrl: url, service: { name }, dataDir, ...secrets },
    { env: {}, clock, log: silent },
  );
  onTestFinished(() => legate.close());
  return { legate, dataDir };
}

const rowsOf = ({ platform }: Legate) => platform.database.read.selectFrom('installation_keys').selectAll().execute();

describe('with LEGATE_SECRET', () => {
  it('instances with separate data folders have the same keys, which are encrypted in the database', async () => {
    const [place, secret] = [await newTestDatabase(), newSecret()];
    // In one process, two connections cannot wait for each other's lock on an SQLite file.
    const first = start(place, { secret });
    if (dialect === 'sqlite') await first;
    const [a, b] = await Promise.all([first, start(place, { secret })]);
    const keys = a.legate.platform.secrets();
    expect(b.legate.platform.secrets()).toEqual(keys);
    expect([a, b].map(({ dataDir }) => existsSync(join(dataDir, 'secrets.json')))).toEqual([false, false]);
    const rows = await rowsOf(a.legate);
    // The fourth key is the seed of the sealed ledger.
    expect(rows.length).toBe(4);
    for (const { key } of Object.values(keys).flat()) expect(JSON.stringify(rows)).not.toContain(key);
  });

  it('a data folder that does not exist is created, because the sealed ledger has its anchor there', async () => {
    const dataDir = join(newFolder(), 'not yet', 'there');
    const { legate } = await start(await newTestDatabase(), { secret: newSecret(), dataDir });
    const served = await until(async () => {
      const response = await legate.fetch(new Request(`${legate.baseUrl}/ledger/checkpoint`));
      return response.status === 200 && response;
    });
    expect(await served.text()).toContain('\n1\n');
    expect(existsSync(join(dataDir, 'ledger-anchor'))).toBe(true);
  });

  it('an instance with another secret, or without one, does not start, and names both solutions', async () => {
    const place = await newTestDatabase();
    await start(place, { secret: newSecret() });
    await expect(start(place, { secret: newSecret() })).rejects.toThrow(
      /Set the one of the other instances; or, .* LEGATE_SECRET_PREVIOUS and run npx legate keys rotate/,
    );
    await expect(start(place)).rejects.toThrow(
      /which is not set\. Set the one of the other instances; or, if it is lost/,
    );
  });

  it('takes over the keys of secrets.json', async () => {
    const [place, secret] = [await newTestDatabase(), newSecret()];
    const { legate, dataDir } = await start(place);
    const keys = legate.platform.secrets();
    const other = start(place, { secret });
    if (dialect === 'postgres') await expect(other).rejects.toThrow(/a secrets\.json that is not in LEGATE_DATA_DIR/);
    else await (await other).legate.platform.database.write.deleteFrom('installation_keys').execute();
    expect((await start(place, { secret, dataDir })).legate.platform.secrets()).toEqual(keys);
    expect((await start(place, { secret })).legate.platform.secrets()).toEqual(keys);
  });

  it('a new key verifies immediately and is used after a minute, without restart; the secret can change', async () => {
    const [place, secret, clock] = [await newTestDatabase(), newSecret(), new TurnedClock()];
    const { legate } = await start(place, { secret, clock });
    const [before] = legate.platform.secrets().signing;
    clock.advance(120_000);
    const now = (): number => clock.now();
    const { database } = legate.platform;
    const changed = newSecret();
    const store = await KeyStore.open({ database, dataDir: '', secret: changed, secretPrevious: secret, now });
    const id = (await store.rotate(['signing']))[0]?.id;
    expect(store.current().signing.map((key) => key.id)).toEqual([before?.id, id]);
    clock.advance(61_000);
    expect(store.current().signing.map((key) => key.id)).toEqual([id, before?.id]);
    expect((await start(place, { secret: changed, clock })).legate.platform.secrets()).toEqual(store.current());
    await expect(start(place, { secret })).rejects.toThrow('LEGATE_SECRET is not the one');
  });

  it('a key that is added within a minute of the first start waits as well', async () => {
    const [place, secret, clock] = [await newTestDatabase(), newSecret(), new TurnedClock()];
    const { legate } = await start(place, { secret, clock });
    const [before] = legate.platform.secrets().signing;
    clock.advance(10_000);
    const { database } = legate.platform;
    const store = await KeyStore.open({
      database,
      dataDir: '',
      secret,
      secretPrevious: undefined,
      now: () => clock.now(),
    });
    const id = (await store.rotate(['signing']))[0]?.id;
    const order = (): (string | undefined)[] => store.current().signing.map((key) => key.id);
    expect(order()).toEqual([before?.id, id]);
    clock.advance(51_000);
    expect(order()).toEqual([before?.id, id]);
    clock.advance(10_000);
    expect(order()).toEqual([id, before?.id]);
  });

  it('an instance reads a new key also if another key was deleted at the same time', async () => {
    const [place, secret, clock] = [await newTestDatabase(), newSecret(), new TurnedClock()];
    const { database } = (await start(place, { secret, clock })).legate.platform;
    const open = () =>
      KeyStore.open({ database, dataDir: '', secret, secretPrevious: undefined, now: () => clock.now() });
    const [running, command] = [await open(), await open()];
    await command.addLedgerKey();
    await running.reload();
    await command.retireLedgerKeys();
    await command.rotate(['signing']);
    await running.reload();
    expect(running.current()).toEqual(command.current());
  });

  it.each(['short', 'ab'.repeat(31), '!'.repeat(64)])('refuses %s as a secret', async (secret) => {
    await expect(start(await newTestDatabase(), { secret })).rejects.toThrow('must be at least 32 random bytes');
  });
});

if (dialect === 'postgres')
  describe('without LEGATE_SECRET on PostgreSQL', () => {
    it('an instance with another secrets.json does not start until the keys are declared lost', async () => {
      const place = await newTestDatabase();
      const { legate, dataDir } = await start(place);
      await start(place, { dataDir });
      await expect(start(place)).rejects.toThrow(
        /Copy the secrets\.json of an instance that runs, .* npx legate keys forget/,
      );
      await forgetKeys(legate.platform.database);
      await start(place);
    });

    it('production requires a secret', async () => {
      const { url, name } = await newTestDatabase();
      const config = { databaseUrl: url, service: { name }, baseUrl: 'https://auth.example.com', dataDir: newFolder() };
      await expect(createLegate(config, { env: {}, production: true })).rejects.toThrow('LEGATE_SECRET is not set');
    });
  });
