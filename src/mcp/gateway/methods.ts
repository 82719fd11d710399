import { MODERN_REVISION } from './messages.ts';

/** A client, and a server after it: `old` is up to 2025-11-25, `new` is 2026-07-28. */
export type Pairing = 'old-old' | 'old-new' | 'new-old' | 'new-new';

const EVERY: readonly Pairing[] = ['old-old', 'old-new', 'new-old', 'new-new'];
const SAME: readonly Pairing[] = ['old-old', 'new-new'];
const OLD: readonly Pairing[] = ['old-old'];
const FROM_OLD: readonly Pairing[] = ['old-old', 'old-new'];

/** The pairings in which a request of a client is passed on to its server. All others are unknown methods. */
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

/** Whether the server's revision does not matter. */
export const isPassedOnAnyway = (method: string): boolean => PASSED_ON.get(method) === EVERY;

export function isPassedOn(method: string, fromModern: boolean, serverRevision: string): boolean {
  const pairing: Pairing = `${fromModern ? 'new' : 'old'}-${serverRevision === MODERN_REVISION ? 'new' : 'old'}`;
  return PASSED_ON.get(method)?.includes(pairing) === true;
}
