import { describe, expect, it } from 'vitest';
import { searchKey, searchWords, wordPattern } from './search-words.ts';

describe('the words of a name', () => {
  it.each([
    ['Payments-Reporter v2', ['payments', 'reporter', 'v2']],
    ['Café Zürich', ['cafe', 'zurich']],
    ['  spaced   out ', ['spaced', 'out']],
    ['東京 agent', ['東京', 'agent']],
    ['%_\\', ['%_\\']],
    ['🙂', ['🙂']],
  ])('%s', (name, words) => {
    expect(searchWords(name)).toEqual(words);
    expect(searchKey(name)).toBe(words.map((word) => ` ${word}`).join(''));
  });

  it('match literally', () => {
    expect(wordPattern('a%_\\')).toBe('% a\\%\\_\\\\%');
  });
});
