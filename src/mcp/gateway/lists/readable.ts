import { onResource } from '../../guard/asks.ts';
import type { AnswerRules } from '../../guard/filter-answer.ts';

export type Permitted = AnswerRules['permitted'];

/** Returns the resources that a client may no longer read. If that cannot be decided, it may read none. */
export async function unreadable(uris: readonly string[], permitted: Permitted): Promise<string[]> {
  if (uris.length === 0 || !permitted) return [];
  const allowed = await permitted(uris.map((uri) => onResource(uri))).catch((): boolean[] => []);
  return uris.filter((_, n) => allowed[n] !== true);
}
