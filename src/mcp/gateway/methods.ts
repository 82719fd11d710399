import { MODERN_REVISION } from './messages.ts';

/** Revisions of a client and of the server that it calls: `old` is up to 2025-11-25, `new` is 2026-07-28. */
export type Pairing = 'old-old' | 'old-new' | 'new-old' | 'new-new';

const EVERY: readonly Pairing[] = ['old-old', 'old-new', 'new-old', 'new-new'];
const SAME: readonly Pairing[] = ['old-old', 'new-new'];
const OLD: readonly Pairing[] = ['old-old'];
const FROM_OLD: readonly Pairing[] = ['old-old', 'old-new'];

/** The pairs of revisions for which a method is passed on to the server. In all other cases the method is unknown. */
export const PASSED_ON: ReadonlyMap<string, readonly Pairing[]> = new Map([
  ['tools/call', EVERY],
  ['prompts/list', EVERY],
  ['prompts/get', EVERY],
  ['resources/list', EVERY],
  ['resources/templates/list', EVERY],
  ['resources/read', EVERY],
  ['completion/complete', EVERY],
  ['logging/setLevel', OLD],
  ['resources/subscribe', FROM_OLD],
  ['resources/unsubscribe', FROM_OLD],
  ['subscriptions/listen', ['new-old', 'new-new']],
  ['tasks/get', SAME],
  ['tasks/cancel', SAME],
  ['tasks/result', OLD],
  ['tasks/list', OLD],
  ['tasks/update', ['new-new']],
]);

/** Returns whether a method is passed on regardless of the server's revision. */
export const isPassedOnAnyway = (method: string): boolean => PASSED_ON.get(method) === EVERY;

export function isPassedOn(method: string, fromModern: boolean, serverRevision: string): boolean {
  const pairing: Pairing = `${fromModern ? 'new' : 'old'}-${serverRevision === MODERN_REVISION ? 'new' : 'old'}`;
  return PASSED_ON.get(method)?.includes(pairing) === true;
}
