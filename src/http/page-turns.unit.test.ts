import { expect, it } from 'vitest';
import { until } from '../../test/support/until.ts';
import { yieldOnce } from '../kernel/yield-once.ts';
import { PageTurns } from './page-turns.ts';

/** Requests that end when the test ends them. The first letter of a name is the person. */
function requests(dialect: 'sqlite' | 'postgres') {
  const turns = new PageTurns(dialect);
  const begun: string[] = [];
  const waited: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = async (name: string): Promise<void> => {
    const turn = await turns.take(name.charAt(0));
    begun.push(name);
    ends.set(name, turn.end);
    if (turn.waited) waited.push(name);
  };
  return { begun, waited, ask, end: (name: string) => ends.get(name)?.() };
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
    end(name);
  }
  await Promise.all(all);
  expect(waited).toEqual(turns.slice(atOnce));

  // When all have ended, the next requests find free turns again.
  for (let i = 0; i < 20; i++) await yieldOnce();
  waited.length = 0;
  for (let i = 0; i < atOnce; i++) await ask(`a${7 + i}`);
  expect(waited).toEqual([]);
});

it('lets other work run between two turns', async () => {
  const { begun, ask, end } = requests('sqlite');
  const all = ['a1', 'a2'].map(ask);
  await all[0];
  end('a1');
  for (let i = 0; i < 4; i++) {
    await yieldOnce();
    expect(begun).toEqual(['a1']);
  }
  await all[1];
  expect(begun).toEqual(['a1', 'a2']);
});
