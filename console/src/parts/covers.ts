const segments = (pattern: string): readonly string[] => pattern.split(':');

/**
 * Returns whether a resource pattern matches everything that another one matches: a final `*` matches one or more
 * segments, `*` in the middle exactly one, `*` alone everything.
 */
export function covers(wide: string, narrow: string): boolean {
  if (wide === '*') return true;
  const [a, b] = [segments(wide), segments(narrow)];
  for (const [i, part] of a.entries()) {
    const other = b[i];
    if (other === undefined) return false;
    if (part === '*' && i === a.length - 1) return narrow !== '*';
    // A final `*` of the narrow pattern stands for more segments than one of the wide pattern.
    if (other === '*' && i === b.length - 1) return false;
    if (part !== '*' && part !== other) return false;
  }
  return a.length === b.length;
}

/** Returns whether the actions of one permission include all of another. */
export const coversActions = (wide: readonly string[], narrow: readonly string[]): boolean =>
  wide.includes('*') || narrow.every((action) => wide.includes(action));
