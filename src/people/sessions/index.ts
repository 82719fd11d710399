import { defineModule } from '../../platform.ts';
import { sessionToken } from './credential.ts';
import { SessionErrors } from './errors.ts';
import { sessionRoutes } from './routes.ts';

/**
 * Sessions of people: creation, authentication, lists and ends (decision 21).
 *
 * Guarantees: only hashes of tokens are stored; an ended session is refused at the next request on every instance; the
 * limit of sessions is exact under concurrency.
 *
 * Sign-in is in `../sign-in`; the session cookie is in `src/access/session-cookie.ts`.
 */
export { actAsPerson, requester } from './act-as-person.ts';
export { type SessionsApi, sessionsApi } from './api.ts';
export { endCookie, startCookie } from './cookie.ts';
export { createSession, type Device, type Proof, type ProviderSession } from './create-session.ts';
export { signedIn } from './credential.ts';
export { parseDevice } from './device.ts';
export { type EndReason, endSessions } from './end-sessions.ts';
export { SessionErrors } from './errors.ts';
export { listSessions } from './list-sessions.ts';
export { withRecentProof, withRecentSignIn } from './recent-proof.ts';
export { revokeSession, revokeSessions } from './revoke-sessions.ts';
export { Session } from './schema.ts';
export { isSecondFactorDue } from './second-factor-due.ts';
export { toSession } from './session.ts';

export const sessions = defineModule({
  name: 'sessions',
  description: 'Sessions of people, authenticated by a cookie or by the same token as a Bearer token.',
  routes: sessionRoutes,
  errors: SessionErrors,
  credentials: [sessionToken],
});
