import { CallTimedOut } from './peer.ts';
import type { ClientSessions } from './sessions.ts';
import type { Upstreams } from './upstreams.ts';

/** At most as many as a connection to a server of 2026-07-28 can have. */
const MAX_URIS = 1000;

/**
 * Listens to the resources of sessions on a new connection. Changes may have been missed before it. Subscriptions that
 * the server does not confirm are deleted, so that the next request for one reaches the server.
 */
export async function subscribeAgain(upstreams: Upstreams, sessions: ClientSessions, key: string): Promise<void> {
  const all = sessions.subscribedAt(key);
  if (all.length === 0) return;
  const uris = all.slice(0, MAX_URIS);
  const confirmed = new Set<string>();
  try {
    await upstreams.useOnce(key, async ({ peer, listening }, timeoutMs) => {
      if (listening) {
        const refused = await listening.add(uris);
        for (const uri of uris) if (!refused.has(uri)) confirmed.add(uri);
        return;
      }
      for (const uri of uris)
        if ('result' in (await peer.request('resources/subscribe', { uri }, { timeoutMs }))) confirmed.add(uri);
    });
  } catch (error) {
    // After any other error the connection has ended, and the next one subscribes again.
    if (!(error instanceof CallTimedOut)) return;
  }
  for (const uri of all)
    if (confirmed.has(uri)) sessions.notify(key, 'notifications/resources/updated', { uri });
    else sessions.forgetResource(key, uri);
}
