import { expect, it } from 'vitest';
import { createTestService, type TestService } from '../../test/support/service.ts';
import { LedgerFollower, movePosition, readHead, readPosition, Superseded, setPosition } from './index.ts';

const NAME = 'test';
const PER_USER = 4;

/** Writes rows by creating agents, each of which adds one row. */
const grow = async (t: TestService, rows: number): Promise<void> => {
  const owner = await t.user();
  for (let i = 0; i < rows; i++) await t.agent(owner);
};

/** A follower that counts its rows per instance and stores its position with each slice. */
function counting(t: TestService, sliceSize = 3) {
  const { database, ledger } = t.legate.platform;
  const seen: number[] = [];
  let failures = 0;
  const state = { failNext: false, errors: [] as unknown[] };
  const follower: LedgerFollower = new LedgerFollower({
    database,
    sliceSize,
    readStart: async () => (await readPosition(database.read, NAME)) ?? 0,
    onSlice: async (from, upto) => {
      if (state.failNext) {
        state.failNext = false;
        throw new Error(`failure ${++failures}`);
      }
      await ledger.maintain((db) => movePosition(db, [NAME], from - 1, upto));
      for (let seq = from; seq <= upto; seq++) seen.push(seq);
      return upto;
    },
    background: {
      run: () => follower.exclusively(() => follower.catchUp()),
      delayMs: 1,
      onError: (error) => state.errors.push(error),
    },
  });
  return { follower, seen, state };
}

const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1);

it('processes every row once, in slices and in order, up to the end of the ledger', async () => {
  const t = await createTestService();
  const { database, ledger } = t.legate.platform;
  await ledger.maintain((db) => setPosition(db, NAME, 0));
  await grow(t, 2 * PER_USER);
  const { follower, seen } = counting(t);
  const head = await readHead(database.read);
  expect(await follower.catchUp()).toBe(head);
  expect(seen).toEqual(upTo(head));
  expect(await readPosition(database.read, NAME)).toBe(head);
  await grow(t, 1);
  await follower.catchUp();
  expect(seen).toEqual(upTo(await readHead(database.read)));
});

it('two followers of the same name share the rows: each row is processed by one of them', async () => {
  const t = await createTestService();
  const { database, ledger } = t.legate.platform;
  await ledger.maintain((db) => setPosition(db, NAME, 0));
  await grow(t, 3 * PER_USER);
  const [one, other] = [counting(t, 1), counting(t, 2)];
  await Promise.all([one.follower.catchUp(), other.follower.catchUp()]);
  await other.follower.catchUp();
  expect([...one.seen, ...other.seen].sort((a, b) => a - b)).toEqual(upTo(await readHead(database.read)));
});

it('a position that another instance moved is not overwritten', async () => {
  const t = await createTestService();
  const { database, ledger } = t.legate.platform;
  await ledger.maintain((db) => setPosition(db, NAME, 5));
  await expect(ledger.maintain((db) => movePosition(db, [NAME], 4, 9))).rejects.toThrow(Superseded);
  expect(await readPosition(database.read, NAME)).toBe(5);
});

it('processes a commit directly only if it continues the position, and reads other rows in slices', async () => {
  const t = await createTestService();
  const { database, ledger } = t.legate.platform;
  const direct: number[] = [];
  const read: number[] = [];
  const follower = new LedgerFollower({
    database,
    sliceSize: 10,
    readStart: async () => 0,
    onSlice: async (from, upto) => {
      for (let seq = from; seq <= upto; seq++) read.push(seq);
      return upto;
    },
    onCommit: ({ firstSeq }, joins) => joins && direct.push(firstSeq) > 0,
  });
  ledger.onCommit(follower.commit);
  await grow(t, 2);
  expect([direct, follower.position]).toEqual([[], undefined]);
  await follower.catchUp();
  expect(read).toEqual([1, 2]);
  await grow(t, 1);
  expect([direct, follower.position]).toEqual([[3], 3]);
  follower.reset();
  await grow(t, 1);
  await follower.catchUp();
  expect([direct, read]).toEqual([[3], [1, 2, 1, 2, 3, 4]]);
});

it('stops at the limit that `end` returns, and continues when the limit moves', async () => {
  const t = await createTestService();
  const { database } = t.legate.platform;
  await grow(t, 2 * PER_USER);
  let end = 3;
  const read: number[] = [];
  const follower = new LedgerFollower({
    database,
    sliceSize: 2,
    readStart: async () => 0,
    readEnd: async () => end,
    onSlice: async (from, upto) => {
      for (let seq = from; seq <= upto; seq++) read.push(seq);
      return upto;
    },
  });
  expect(await follower.catchUp()).toBe(3);
  end = 5;
  expect(await follower.catchUp()).toBe(5);
  expect(read).toEqual(upTo(5));
});

it('continues after an error in the background, and starts no work after it is stopped', async () => {
  const t = await createTestService();
  const { ledger } = t.legate.platform;
  await ledger.maintain((db) => setPosition(db, NAME, 0));
  await grow(t, 1);
  const { follower, seen, state } = counting(t);
  state.failNext = true;
  follower.runSoon();
  await expect.poll(() => state.errors).toHaveLength(1);
  follower.runSoon();
  await expect.poll(() => seen).toEqual([1]);
  await follower.stop();
  await grow(t, 1);
  follower.runSoon();
  await follower.catchUp();
  expect(seen).toEqual([1]);
});

it('stops without waiting for the end of a pause', async () => {
  const t = await createTestService();
  await grow(t, 3);
  const read: number[] = [];
  let nowPaused = (): void => {};
  const paused = new Promise<void>((resolve) => {
    nowPaused = resolve;
  });
  const follower = new LedgerFollower({
    database: t.legate.platform.database,
    sliceSize: 1,
    readStart: async () => 0,
    onSlice: async (_, upto) => read.push(upto),
    pause: () => new Promise(() => nowPaused()),
  });
  const caughtUp = follower.exclusively(() => follower.catchUp());
  await paused;
  await follower.stop();
  expect([await caughtUp, read]).toEqual([1, [1]]);
});

it('processes commits during a slice from memory', async () => {
  const t = await createTestService();
  const { database, ledger } = t.legate.platform;
  const [direct, read]: [number[], number[]] = [[], []];
  let between = async (): Promise<void> => grow(t, 2);
  const follower = new LedgerFollower({
    database,
    sliceSize: 10,
    maxHeldRows: 10,
    readStart: async () => 0,
    onSlice: async (from, upto) => {
      for (let seq = from; seq <= upto; seq++) read.push(seq);
      await between();
      between = async () => {};
      return upto;
    },
    onCommit: ({ firstSeq }, joins) => joins && direct.push(firstSeq) > 0,
  });
  ledger.onCommit(follower.commit);
  await grow(t, 1);
  expect(await follower.catchUp()).toBe(3);
  expect([read, direct]).toEqual([[1], [2, 3]]);
  // The number of rows in memory is limited. Further rows are read from the database.
  follower.reset();
  [read.length, direct.length] = [0, 0];
  between = async () => grow(t, 12);
  const held = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
  expect(await follower.catchUp()).toBe(13);
  expect([read, direct]).toEqual([[1, 2, 3], held]);
  expect(await follower.catchUp()).toBe(15);
  expect([read, direct]).toEqual([[1, 2, 3, 14, 15], held]);
});

it('runs once more for all that became due during a run, so that a stop waits for no more than that', async () => {
  const t = await createTestService();
  let runs = 0;
  let end = (): void => {};
  const began: (() => void)[] = [];
  const follower: LedgerFollower = new LedgerFollower({
    database: t.legate.platform.database,
    sliceSize: 1,
    readStart: async () => 0,
    onSlice: async (_, upto) => upto,
    background: {
      run: () =>
        follower.exclusively(() => {
          runs++;
          began.shift()?.();
          return new Promise<void>((resolve) => {
            end = resolve;
          });
        }),
      delayMs: 0,
      onError: () => {},
    },
  });
  const nextRun = (): Promise<void> => new Promise((resolve) => began.push(resolve));
  /** Resolves after the timer of `runSoon`, because it is set later. */
  const timers = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));
  let begun = nextRun();
  follower.runSoon();
  await begun;
  for (let i = 0; i < 5; i++) {
    follower.runSoon();
    await timers();
  }
  begun = nextRun();
  end();
  await begun;
  expect(runs).toBe(2);
  follower.runSoon();
  await timers();
  const stopped = follower.stop();
  end();
  await stopped;
  expect(runs).toBe(2);
});
