import type { Principal } from '../lib/access.ts';
import { CommonErrors } from '../lib/error.ts';
import type { Platform } from '../platform.ts';
import { endSession } from '../sessions/index.ts';

/** Ends the session of this call at once, on every instance. 403 FORBIDDEN when no session proves the call: there is nothing to end. */
export async function signOut(platform: Platform, principal: Principal): Promise<void> {
  const sessionId = principal.kind === 'user' && principal.via === 'session' ? principal.credentialId : null;
  if (sessionId === null) throw CommonErrors.FORBIDDEN({ message: 'Only a session can sign out. An API token is ended by DELETE /api-tokens/:id.' });
  await platform.ledger.change((change) => endSession(change, sessionId));
}
