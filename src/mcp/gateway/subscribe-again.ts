import type { ClientSessions } from './sessions.ts';
import type { Upstreams } from './upstreams.ts';

/** Listens to the resources of sessions on a new connection. Changes may have been missed before it. */
export async function subscribeAgain(upstreams: Upstreams, sessions: ClientSessions, key: string): Promise<void> {
  const uris = sessions.subscribedAt(key);
  if (uris.length === 0) return;
  try {
    const { refused, hold } = await upstreams.subscribe(key, uris);
    hold.release();
    for (const uri of uris) if (!refused.has(uri)) sessions.notify(key, 'notifications/resources/updated', { uri });
  } catch {
    // The connection has ended, so the next one follows.
  }
}
