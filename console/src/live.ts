import { useSyncExternalStore } from 'react';
import { legate, onError, queries, serverNow } from './api.ts';

/** `catching`: after a disconnect, until the missed events have arrived. */
export type LiveState = 'connecting' | 'live' | 'catching' | 'retrying' | 'offline';

/** A tick arrives once a second, so silence means a disconnect. */
const SILENCE_MS = 5000;
const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 60_000;

/** The first element of the query keys that an event of each type makes stale. */
const STALE: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^audit$/, ['audit', 'dashboard', 'facets', 'histogram']],
  [/^agent\./, ['agents', 'delegations', 'dashboard', 'changes']],
  [/^delegation\./, ['delegations', 'agents', 'changes']],
  [/^approval\./, ['approvals', 'dashboard']],
  [/^anomaly\./, ['anomalies', 'dashboard']],
  [/^(budget|cost)\./, ['budgets', 'costs', 'dashboard']],
  [/^webhook\./, ['webhooks', 'dashboard']],
  [/^mcp\./, ['servers']],
  [/^gateway\./, ['gateway', 'changes']],
  [/^(client|grant|consent)\./, ['clients', 'grants']],
  [/^trust\./, ['agents', 'changes']],
  [/^(user|invite|tenant|issuer|group|session|passkey)\./, ['people']],
];
/** Lists of decisions are not fetched again while they are read: `newDecisions` counts the missing ones. */
const FOLLOWED = new Set([
  'approvals',
  'dashboard',
  'agents',
  'delegations',
  'clients',
  'grants',
  'anomalies',
  'budgets',
  'webhooks',
  'people',
  'servers',
  'gateway',
]);

let state: LiveState = 'connecting';
let decisions = 0;
const listeners = new Set<() => void>();
const notify = (): void => listeners.forEach((listener) => void listener());
const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
export const useLive = (): LiveState => useSyncExternalStore(subscribe, () => state);
/** Number of decisions recorded since the page was opened. */
export const useNewDecisions = (): number => useSyncExternalStore(subscribe, () => decisions);

const stale = new Set<string>();
let waiting = false;
/** Queries become stale at most every 2 seconds. */
function onEvent(type: string): void {
  if (type === 'audit') decisions++;
  for (const [pattern, keys] of STALE) if (pattern.test(type)) for (const key of keys) stale.add(key);
  if (waiting) return;
  waiting = true;
  setTimeout(() => {
    waiting = false;
    for (const key of stale)
      void queries.invalidateQueries({ queryKey: [key], refetchType: FOLLOWED.has(key) ? 'active' : 'none' });
    stale.clear();
    notify();
  }, 2000);
}
function setState(found: LiveState): void {
  // Events in transit may still arrive.
  const next = navigator.onLine ? found : 'offline';
  if (state === next) return;
  state = next;
  notify();
}

/** `id` of the last event, so that another tab can continue after it. */
type Message = { readonly type: string; readonly id: string } | { readonly state: LiveState } | 'beat';

/**
 * Follows events over one connection for all tabs of the browser: HTTP/1.1 allows six connections per origin. Web Locks
 * elects the tab that holds the stream, and a BroadcastChannel shares it. Without them (no https) each tab has its own.
 */
export function startLive(): void {
  const channel = 'BroadcastChannel' in window ? new BroadcastChannel('legate-live') : undefined;
  let leading = false;
  let heard = Date.now();
  let lastId: string | undefined;
  const since = new Date(serverNow());
  const take = (message: Message): void => {
    heard = Date.now();
    if (message === 'beat') return;
    if ('state' in message) {
      // Events that did not arrive may have changed anything.
      if (message.state === 'catching') for (const key of FOLLOWED) void queries.invalidateQueries({ queryKey: [key] });
      setState(message.state);
      return;
    }
    lastId = message.id;
    onEvent(message.type);
  };
  const share = (message: Message): void => {
    take(message);
    channel?.postMessage(message);
  };
  channel?.addEventListener('message', ({ data }: MessageEvent<Message | 'hello'>) => {
    if (data !== 'hello') take(data);
    else if (leading) channel.postMessage({ state });
  });
  const lead = async (): Promise<void> => {
    leading = true;
    for (let failures = 0; ; failures++) {
      try {
        for await (const event of legate.events.stream({
          ticks: true,
          idleTimeout: SILENCE_MS * 2,
          ...(lastId === undefined ? { since } : { lastEventId: lastId }),
        })) {
          failures = 0;
          const ended = event.type === 'error' || event.type === 'draining';
          if (ended) share({ state: 'retrying' });
          else if (state === 'retrying' || state === 'offline') share({ state: 'catching' });
          // Missed events arrive before the next tick.
          else if (event.id === undefined && state !== 'live') share({ state: 'live' });
          share(event.id === undefined ? 'beat' : { type: event.type, id: event.id });
        }
      } catch (error) {
        // The stream reconnects by itself, unless the service refuses it, such as after a sign-out in another tab.
        onError(error);
      }
      share({ state: 'retrying' });
      const wait = Math.min(FIRST_WAIT_MS * 2 ** failures, MAX_WAIT_MS);
      await new Promise((resolve) => setTimeout(resolve, wait * (1 + Math.random() / 4)));
    }
  };
  setInterval(() => {
    if (!navigator.onLine) setState('offline');
    else if ((state === 'live' || state === 'catching') && Date.now() - heard > SILENCE_MS) setState('retrying');
  }, 1000);
  window.addEventListener('offline', () => setState('offline'));
  window.addEventListener('online', () => setState('retrying'));
  channel?.postMessage('hello');
  if (navigator.locks) void navigator.locks.request('legate-live', lead);
  else void lead();
}
