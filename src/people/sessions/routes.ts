import { asUser, type Principal } from '../../access/principal.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import { defineRoute } from '../../platform.ts';
import { endCookie } from './cookie.ts';
import { SessionErrors } from './errors.ts';
import { listSessions } from './list-sessions.ts';
import { assertUser, revokeSession, revokeSessions } from './revoke-sessions.ts';
import { Revoked, SessionId, SessionList, UserAndSessionId, UserId } from './schema.ts';

/** Returns the session that the caller used; null for another credential, such as an API token. */
const currentOf = (principal: Principal): Id<'session'> | null =>
  principal.kind === 'user' && principal.via === 'session' && principal.credentialId !== null
    ? asId('session', principal.credentialId)
    : null;

const { SESSION_NOT_FOUND, USER_NOT_FOUND } = SessionErrors;

/** Specification 4.6. */
export const sessionRoutes = [
  defineRoute({
    method: 'GET',
    path: '/auth/sessions',
    summary: "List the caller's sessions",
    description: 'Newest first, at most 1,000.',
    access: 'user',
    responses: { 200: SessionList },
    handle: async ({ principal }, platform) => ({
      status: 200,
      body: { sessions: await listSessions(platform, asUser(principal).userId, currentOf(principal)) },
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/auth/sessions/:id',
    summary: "End one of the caller's sessions",
    description: 'Takes effect immediately, on every instance. Ending the current session also deletes its cookie.',
    access: 'user',
    preview: true,
    effect: 'ownAccount',
    params: SessionId,
    responses: { 204: null },
    errors: [SESSION_NOT_FOUND],
    handle: async ({ principal, params: { id }, reauthorize, ip, actor }, platform) => {
      await revokeSession(platform, asUser(principal).userId, id, { reauthorize, reason: 'revoked', ip, actor });
      return { status: 204, ...(id === currentOf(principal) ? { headers: endCookie(platform) } : {}) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/auth/sessions',
    summary: "End all of the caller's sessions except the current one",
    description: 'For a caller who did not use a session, all sessions end.',
    access: 'user',
    preview: true,
    effect: 'ownAccount',
    responses: { 200: Revoked },
    handle: async ({ principal, reauthorize, ip, actor }, platform) => ({
      status: 200,
      body: {
        revoked: await revokeSessions(platform, asUser(principal).userId, {
          reauthorize,
          reason: 'revoked',
          ip,
          actor,
          except: currentOf(principal),
        }),
      },
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/users/:id/sessions',
    summary: 'List the sessions of a user',
    access: 'admin',
    params: UserId,
    responses: { 200: SessionList },
    errors: [USER_NOT_FOUND],
    handle: async ({ principal, params: { id } }, platform) => {
      await assertUser(platform, id);
      return { status: 200, body: { sessions: await listSessions(platform, id, currentOf(principal)) } };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/users/:id/sessions',
    summary: 'End all sessions of a user',
    access: 'admin',
    preview: true,
    params: UserId,
    responses: { 200: Revoked },
    errors: [USER_NOT_FOUND],
    handle: async ({ params: { id }, reauthorize, ip, actor }, platform) => {
      await assertUser(platform, id);
      return {
        status: 200,
        body: {
          revoked: await revokeSessions(platform, id, {
            reauthorize,
            reason: 'revoked-by-admin',
            ip,
            actor,
            except: null,
          }),
        },
      };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/users/:id/sessions/:sid',
    summary: 'End one session of a user',
    access: 'admin',
    preview: true,
    params: UserAndSessionId,
    responses: { 204: null },
    errors: [USER_NOT_FOUND, SESSION_NOT_FOUND],
    handle: async ({ params: { id, sid }, reauthorize, ip, actor }, platform) => {
      await assertUser(platform, id);
      await revokeSession(platform, id, sid, { reauthorize, reason: 'revoked-by-admin', ip, actor });
      return { status: 204 };
    },
  }),
];
