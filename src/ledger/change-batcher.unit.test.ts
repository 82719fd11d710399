import { expect, it } from 'vitest';
import { CommonErrors } from '../kernel/errors.ts';
import type { Change } from './change.ts';
import { ChangeBatcher } from './change-batcher.ts';

/** Creates a batcher over a ledger that records the number of changes in each commit. */
const recordingBatcher = (maxWaitMs = Number.POSITIVE_INFINITY) => {
  const commits: number[] = [];
  const batcher = new ChangeBatcher(async (work) => {
    let changes = 0;
    const result = await work({ emit: () => changes++ } as unknown as Change);
    await new Promise((resolve) => setImmediate(resolve));
    commits.push(changes);
    return result;
  }, maxWaitMs);
  const add = <T>(answer: () => T) =>
    batcher.add(async (change) => {
      change.emit({ type: 'grant.created', data: {} });
      return answer();
    });
  return { add, commits };
};

it('commits the changes of one tick in one batch, and those that arrive during a commit in the next', async () => {
  const { add, commits } = recordingBatcher();
  const first = [1, 2, 3].map((n) => add(() => n * 2));
  await first[0];
  expect(await Promise.all(first)).toEqual([2, 4, 6]);
  const many = Array.from({ length: 70 }, (_, n) => n);
  expect(await Promise.all(many.map((n) => add(() => n)))).toEqual(many);
  expect(commits).toEqual([3, 32, 32, 6]);
});

it('rejects one caller if its change returns an error, and the whole batch if a change throws', async () => {
  const { add, commits } = recordingBatcher();
  const settled = async (answers: (() => unknown)[]) =>
    (await Promise.allSettled(answers.map(add))).map((r) =>
      r.status === 'fulfilled' ? r.value : (r.reason as Error).message,
    );
  expect(await settled([() => 1, () => CommonErrors.NOT_FOUND({ message: 'one' }), () => 2])).toEqual([1, 'one', 2]);
  const fails = () => {
    throw new Error('all');
  };
  expect(await settled([() => 1, fails])).toEqual(['all', 'all']);
  expect(await settled([() => 3])).toEqual([3]);
  expect(commits).toEqual([3, 1]);
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('waits a few ticks for further changes, and no longer than its limit', async () => {
  for (const [maxWaitMs, expected] of [
    [Number.POSITIVE_INFINITY, [3]],
    [0, [1, 1, 1]],
  ] as const) {
    const { add, commits } = recordingBatcher(maxWaitMs);
    const answers = [add(() => 1)];
    for (const n of [2, 3]) {
      await turn();
      await turn();
      answers.push(add(() => n));
    }
    expect(await Promise.all(answers)).toEqual([1, 2, 3]);
    expect(commits).toEqual(expected);
  }
});
