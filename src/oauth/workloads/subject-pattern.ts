import { text } from '../../kernel/json.ts';

/** Returns the segments and, at odd indexes, the separators between them. */
const partsOf = (value: string): string[] => value.split(/([:/])/);

/** Returns whether `*` stands for whole segments only, and at least one segment is not `*`. */
const isPattern = (value: string): boolean => {
  const segments = partsOf(value).filter((_, i) => i % 2 === 0);
  return segments.every((s) => s === '*' || !s.includes('*')) && segments.some((s) => s !== '*' && s !== '');
};

/** A text in which `*` matches one whole segment between `:` and `/` (contract 23.4). */
export const SubjectPattern = text(500).refine(
  isPattern,
  'must contain "*" only as a whole segment between ":" or "/", next to segments that are named',
);

export const hasWildcard = (pattern: string): boolean => pattern.includes('*');

/** The text before the first `*`. */
export const literalPrefix = (pattern: string): string => pattern.split('*', 1)[0] as string;

/** `*` matches one segment that is not empty. */
export function matchesPattern(pattern: string, value: string): boolean {
  if (!hasWildcard(pattern)) return pattern === value;
  const [wanted, given] = [partsOf(pattern), partsOf(value)];
  return (
    wanted.length === given.length && wanted.every((part, i) => (part === '*' ? given[i] !== '' : part === given[i]))
  );
}
