/** Splits a list into chunks of at most `size` items, for statements with a limited number of values. */
export function* chunk<T>(list: readonly T[], size = 500): Generator<readonly T[]> {
  for (let start = 0; start < list.length; start += size) yield list.slice(start, start + size);
}
