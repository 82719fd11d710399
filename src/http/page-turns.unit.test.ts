import { expect, it } from 'vitest';
import { until } from '../../test/support/until.ts';
import { yieldOnce } from '../kernel/yield-once.ts';
import { PageTurns } from './page-turns.ts';

const LONG = { body: 'x'.repeat(300_000) };
const SHORT = { body: '[]' };
type Ended = typeof SHORT | Error;

/** Requests that end when the test ends them. The first letter of a name is the person. */
function requests(dialect: 'sqlite' | 'postgres') {
  const turns = new PageTurns(dialect);
  const begun: string[] = [];
  const waited: string[] = [];
  const ends = new Map<string, (answer: Ended) => void>();
  const ask = (name: string): Promise<unknown> =>
    turns
      .run(name.charAt(0), async (hasWaited) => {
        begun.push(name);
        if (hasWaited) waited.push(name);
        const answer = await new Promise<Ended>((resolve) => ends.set(name, resolve));
        if (answer instanceof Error) throw answer;
        return answer;
      })
      .catch((error: unknown) => error);
  return { begun, waited, ask, end: (name: string, answer: Ended) => ends.get(name)?.(answer) };
}

it.each(['sqlite', 'postgres'] as const)('lets people take turns, with %s', async (dialect) => {
  const { begun, waited, ask, end } = requests(dialect);
  const atOnce = dialect === 'sqlite' ? 1 : 3;
  const order = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'a5', 'b2', 'a6'];
  const turns = dialect === 'sqlite' ? ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4', 'a5', 'a6'] : order;
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1', 'b2', 'c1'].map(ask);
  for (const [i, name] of turns.entries()) {
    const running = Math.min(i + atOnce, turns.length);
    await until(() => begun.length >= running);
    expect(begun).toEqual(turns.slice(0, running));
    end(name, LONG);
  }
  await Promise.all(all);
  expect(waited).toEqual(turns.slice(atOnce));

  // The next requests find free turns again.
  begun.length = 0;
  const again = ['a1', 'a2', 'a3', 'a4'].map(ask);
  await until(() => begun.length >= atOnce);
  expect(begun).toHaveLength(atOnce);
  for (const name of ['a1', 'a2', 'a3', 'a4']) {
    await until(() => begun.includes(name));
    end(name, SHORT);
  }
  await Promise.all(again);
});

it.each([
  ['a long answer', LONG, ['a1']],
  ['a failed request', new Error('cannot read'), ['a1']],
  ['a short answer', SHORT, ['a1', 'a2']],
])('after %s, begins the next request when other work has run, unless it was short', async (_what, answer, soon) => {
  const { begun, ask, end } = requests('sqlite');
  const all = ['a1', 'a2'].map(ask);
  end('a1', answer);
  await all[0];
  await yieldOnce();
  expect(begun).toEqual(soon);
  await until(() => begun.length === 2);
  end('a2', SHORT);
  await Promise.all(all);
});
