/** Words shorter than this are in too many passwords by chance. */
const MIN_WORD_CHARS = 3;
/** What a password needs beyond the words, if that has no letter. */
const MIN_REST_CHARS = 8;

const folded = (text: string): string => text.normalize('NFKC').toLowerCase();

/**
 * Whether a password is little more than words that anybody tries first for this account: `words`, such as the service's name and
 * the person's address. `legate2030!` is, `legate rides a horse` is not.
 */
export function isMadeOf(password: string, words: readonly string[]): boolean {
  const tried = words.map(folded).filter((word) => [...word].length >= MIN_WORD_CHARS);
  const whole = folded(password);
  let rest = whole;
  for (const word of tried.sort((a, b) => b.length - a.length)) rest = rest.replaceAll(word, '');
  return rest !== whole && !/\p{L}/u.test(rest) && [...rest].length < MIN_REST_CHARS;
}

/** The parts of an e-mail address that a guess would begin with. */
export const wordsOfEmail = (email: string | null): string[] => {
  if (email === null) return [];
  const at = email.lastIndexOf('@');
  const local = email.slice(0, at);
  return [email, local, ...local.split(/[.+_-]/)];
};
