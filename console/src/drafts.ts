import { useEffect } from 'react';

/** Unsent input, by address and name. None of it is secret. */
const drafts = new Map<string, unknown>();
const KEY = 'legate.drafts';
const at = (name: string): string => `${location.pathname} ${name}`;

/** Loads the drafts that a person left in this tab before the page was reloaded, for example for a sign-in. */
export function takeDrafts(userId: string): void {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? '{}') as { userId?: string; drafts?: object };
  sessionStorage.removeItem(KEY);
  // Another person may have signed in since.
  if (kept.userId === userId) for (const [place, draft] of Object.entries(kept.drafts ?? {})) drafts.set(place, draft);
  window.addEventListener('pagehide', () => {
    if (drafts.size === 0) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify({ userId, drafts: Object.fromEntries(drafts) }));
  });
}

/** Returns the unsent input at this address. */
export const draftAt = <T>(name: string): T | undefined => drafts.get(at(name)) as T | undefined;

/** Deletes a draft that was sent or discarded. */
export const dropDraft = (name: string): void => void drafts.delete(at(name));

/**
 * Keeps a draft until it is sent or discarded, even if its screen is left or reloaded. undefined means that there is no
 * input.
 */
export function useDraft(name: string, value: unknown): void {
  useEffect(() => {
    if (value === undefined) dropDraft(name);
    else drafts.set(at(name), value);
  }, [name, value]);
}
