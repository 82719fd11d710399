import { useSyncExternalStore } from 'react';
import { legate, queries } from './api.ts';

export type LiveState = 'connecting' | 'live' | 'retrying' | 'offline';

/** The first element of the query keys that an event of a type makes stale. */
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
  [/^(user|invite|tenant|issuer|group)\./, ['people']],
];
/** Lists of decisions are not fetched again under the reader: `newDecisions` counts what they lack. */
const FOLLOWED = new Set([
  'approvals',
  'dashboard',
  'agents',
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
function setState(next: LiveState): void {
  if (state === next) return;
  state = next;
  notify();
}

type Message = { readonly type: string } | { readonly state: LiveState };

/**
 * Follows events over one connection for all tabs of the browser: HTTP/1.1 allows six connections per origin. Web Locks
 * elects the tab that holds the stream, and a BroadcastChannel shares it. Without them (no https) each tab has its own.
 */
export function startLive(): void {
  const channel = 'BroadcastChannel' in window ? new BroadcastChannel('legate-live') : undefined;
  const take = (message: Message): void => ('state' in message ? setState(message.state) : onEvent(message.type));
  const share = (message: Message): void => {
    take(message);
    channel?.postMessage(message);
  };
  channel?.addEventListener('message', ({ data }: MessageEvent<Message | 'hello'>) => {
    if (data !== 'hello') take(data);
    else if (leading) channel.postMessage({ state });
  });
  let leading = false;
  const lead = async (): Promise<void> => {
    leading = true;
    for (;;) {
      try {
        for await (const event of legate.events.stream({ ticks: true })) {
          share({ state: event.type === 'error' ? 'retrying' : 'live' });
          if (event.id !== undefined) share({ type: event.type });
        }
      } catch {
        share({ state: 'retrying' });
      }
      await new Promise((resolve) => setTimeout(resolve, 15_000));
    }
  };
  // A tick comes once a second, so silence is a break.
  let last = Date.now();
  subscribe(() => {
    last = Date.now();
  });
  channel?.addEventListener('message', () => {
    last = Date.now();
  });
  setInterval(() => {
    if (!navigator.onLine) setState('offline');
    else if (state === 'live' && !leading && Date.now() - last > 10_000) setState('retrying');
  }, 2000);
  window.addEventListener('offline', () => setState('offline'));
  window.addEventListener('online', () => setState('retrying'));
  channel?.postMessage('hello');
  if (navigator.locks) void navigator.locks.request('legate-live', lead);
  else void lead();
}
