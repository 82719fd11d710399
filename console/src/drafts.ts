import { useEffect } from 'react';

/** What was typed and not sent yet, by the address and a name. None of it is secret. */
const drafts = new Map<string, unknown>();
const KEY = 'legate.drafts';
/** Drafts from before the session ended. */
let returned: Readonly<Record<string, unknown>> = {};
const at = (name: string): string => `${location.pathname} ${name}`;

/** Keeps the drafts of a person in this tab while they sign in again. */
export function keepDrafts(userId: string): void {
  if (drafts.size > 0) sessionStorage.setItem(KEY, JSON.stringify({ userId, drafts: Object.fromEntries(drafts) }));
}

/** Takes what was kept, unless another person has signed in. */
export function takeDrafts(userId: string): void {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? '{}') as { userId?: string; drafts?: typeof returned };
  sessionStorage.removeItem(KEY);
  if (kept.userId === userId) returned = kept.drafts ?? {};
}

/** Returns the draft with which the person comes back to this address from signing in, once. */
export function returnedDraft<T>(name: string): T | undefined {
  const { [at(name)]: draft, ...others } = returned;
  returned = others;
  return draft as T | undefined;
}

/** Remembers a draft as long as its screen is shown. undefined: nothing was typed. */
export function useDraft(name: string, value: unknown): void {
  useEffect(() => {
    const place = at(name);
    if (value !== undefined) drafts.set(place, value);
    return () => void drafts.delete(place);
  }, [name, value]);
}
