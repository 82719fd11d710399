import { defineModule } from '../platform.ts';
import { sessionToken } from './credential.ts';

export const sessions = defineModule({
  name: 'sessions',
  description: 'Signed-in people: a session is proved by a cookie, or by the same token as Bearer.',
  credentials: [sessionToken],
});
