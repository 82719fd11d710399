/** Shorter words occur in too many passwords by chance. */
const MIN_WORD_CHARS = 3;
/** Characters that a password needs in addition to the words if they contain no letter. */
const MIN_REST_CHARS = 8;

const folded = (text: string): string => text.normalize('NFKC').toLowerCase();

/**
 * Returns whether a password consists mostly of `words`, such as the service's name and the user's address, which
 * attackers try first. True for `legate2030!`, false for `legate rides a horse`.
 */
export function isMadeOf(password: string, words: readonly string[]): boolean {
  const tried = words.map(folded).filter((word) => [...word].length >= MIN_WORD_CHARS);
  const whole = folded(password);
  let rest = whole;
  for (const word of tried.sort((a, b) => b.length - a.length)) rest = rest.replaceAll(word, '');
  return rest !== whole && !/\p{L}/u.test(rest) && [...rest].length < MIN_REST_CHARS;
}

/** Returns the parts of an e-mail address that a guess would start with. */
export const wordsOfEmail = (email: string | null): string[] => {
  if (email === null) return [];
  const at = email.lastIndexOf('@');
  const local = email.slice(0, at);
  return [email, local, ...local.split(/[.+_-]/)];
};
