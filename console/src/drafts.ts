import { useEffect } from 'react';

/** What was typed and not sent yet, by the address and a name. None of it is secret. */
const drafts = new Map<string, unknown>();
const KEY = 'legate.drafts';
const at = (name: string): string => `${location.pathname} ${name}`;

/** Takes the drafts that a person left in this tab before it was loaded again, such as for a sign-in. */
export function takeDrafts(userId: string): void {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? '{}') as { userId?: string; drafts?: object };
  sessionStorage.removeItem(KEY);
  // Another person may have signed in meanwhile.
  if (kept.userId === userId) for (const [place, draft] of Object.entries(kept.drafts ?? {})) drafts.set(place, draft);
  window.addEventListener('pagehide', () => {
    if (drafts.size === 0) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify({ userId, drafts: Object.fromEntries(drafts) }));
  });
}

/** Returns what was typed at this address and not sent. */
export const draftAt = <T>(name: string): T | undefined => drafts.get(at(name)) as T | undefined;

/** Forgets a draft that was sent or given up. */
export const dropDraft = (name: string): void => void drafts.delete(at(name));

/**
 * Remembers a draft until it is sent or given up, also if its screen is left or loaded again. undefined: nothing was
 * typed.
 */
export function useDraft(name: string, value: unknown): void {
  useEffect(() => {
    if (value === undefined) dropDraft(name);
    else drafts.set(at(name), value);
  }, [name, value]);
}
