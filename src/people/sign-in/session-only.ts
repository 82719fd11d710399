import type { Principal } from '../../access/principal.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import { asId, type Id } from '../../kernel/ids.ts';

/** Returns the session of the call. 403 FORBIDDEN, with `message`, for any other credential. */
export function sessionIdOf(principal: Principal, message = 'This needs a session: sign in first.'): Id<'session'> {
  const sessionId = principal.kind === 'user' && principal.via === 'session' ? principal.credentialId : null;
  if (sessionId === null) throw CommonErrors.FORBIDDEN({ message });
  return asId('session', sessionId);
}
