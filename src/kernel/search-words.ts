/**
 * Returns the words of a text for searching and sorting: lower case, without accents, split at everything that is
 * neither letter nor digit. A text without such characters is one word.
 */
export function searchWords(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
  const words = plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
  return words.length > 0 ? words : [plain.trim()];
}

/** Returns the words with a space before each, so that a word can be found by its beginning. */
export const searchKey = (text: string): string =>
  searchWords(text)
    .map((word) => ` ${word}`)
    .join('');

/** Returns a LIKE pattern, for `escape '\'`, of the keys with a word that begins so. */
export const wordPattern = (word: string): string => `% ${word.replace(/[\\%_]/g, '\\$&')}%`;
