import { readDecided } from '../decided.ts';

/** Returns the OAuth client through which a decision was requested or a change was made. */
export function clientOf(decided: string | null, change: string | null): string | null {
  if (decided?.includes(CLIENT)) return readDecided(decided).askedBy?.clientId ?? null;
  if (change?.includes(CLIENT))
    return (JSON.parse(change) as { actor?: { clientId?: string } }).actor?.clientId ?? null;
  return null;
}

/** Name of the member in both stored objects. */
const CLIENT = '"clientId"';
