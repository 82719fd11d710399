import { readDecided } from '../decided.ts';
import { storedObject } from '../stored-json.ts';

/** Returns the OAuth client through which a decision was requested or a change was made. */
export function clientOf(decided: string | null, change: string | null): string | null {
  if (decided?.includes(CLIENT)) return textIn(readDecided(decided).askedBy?.clientId);
  if (change?.includes(CLIENT)) return textIn((storedObject(change) as Made).actor?.clientId);
  return null;
}

/** Name of the member in both stored objects. */
const CLIENT = '"clientId"';

interface Made {
  readonly actor?: { readonly clientId?: unknown } | null;
}

const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null);
