/** A list in pieces of at most so many, for statements that take so many values. */
export function* chunk<T>(list: readonly T[], most = 500): Generator<readonly T[]> {
  for (let at = 0; at < list.length; at += most) yield list.slice(at, at + most);
}
