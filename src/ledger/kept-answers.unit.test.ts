import { expect, it } from 'vitest';
import { DAY_MS } from '../kernel/clock.ts';
import { keptAnswer, LONG_CHARS_PER_OWNER, LongAnswers, MAX_KEPT_CHARS } from './kept-answers.ts';

it('long answers are kept up to a length, and up to a share of each owner and day', () => {
  const long = new LongAnswers();
  const answers = LONG_CHARS_PER_OWNER / MAX_KEPT_CHARS;
  expect(long.admit('alice', MAX_KEPT_CHARS + 1, 0)).toBe(false);
  for (let i = 0; i < answers; i++) expect(long.admit('alice', MAX_KEPT_CHARS, i)).toBe(true);
  expect(long.admit('alice', 1, DAY_MS - 1)).toBe(false);
  expect(long.admit('bob', MAX_KEPT_CHARS, DAY_MS - 1)).toBe(true);
  expect(long.admit('alice', MAX_KEPT_CHARS, DAY_MS)).toBe(true);
  for (let i = 1; i < answers; i++) expect(long.admit('bob', MAX_KEPT_CHARS, DAY_MS)).toBe(true);
  expect(long.admit('bob', 1, DAY_MS)).toBe(false);
});

it('a share that was used before the clock was set back does not count', () => {
  const long = new LongAnswers();
  const fast = 400 * DAY_MS;
  for (let i = 0; i < LONG_CHARS_PER_OWNER / MAX_KEPT_CHARS; i++) long.admit('alice', MAX_KEPT_CHARS, fast);
  expect(long.admit('alice', 1, fast)).toBe(false);
  expect(long.admit('alice', 1, 0)).toBe(true);
});

it('short answers are kept without a share', () => {
  const key = { scope: 's', part: 0, fingerprint: 'f' };
  const refusing = { ...key, admitLong: () => false };
  expect(keptAnswer(refusing, 'answer', 'x'.repeat(65_534), 0)).toMatchObject({ kind: 'answer' });
  expect(keptAnswer(refusing, 'answer', 'x'.repeat(65_535), 0)).toMatchObject({ kind: 'gone', answer: null });
  const admitting = { ...key, admitLong: (chars: number) => chars === 65_537 };
  expect(keptAnswer(admitting, 'answer', 'x'.repeat(65_535), 0)).toMatchObject({ kind: 'answer' });
});
