import { defineModule } from '../platform.ts';
import { sessionToken } from './credential.ts';

export { endCookie, startCookie } from './cookie.ts';
export { createSession, type Device } from './create-session.ts';
export { endSession, endSessionsOf } from './end-sessions.ts';
export { getCurrentSession } from './get-session.ts';
export { Session } from './schema.ts';

export const sessions = defineModule({
  name: 'sessions',
  description: 'Signed-in people: a session is proved by a cookie, or by the same token as Bearer.',
  credentials: [sessionToken],
});
