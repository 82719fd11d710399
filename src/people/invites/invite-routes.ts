import { z } from 'zod';
import { asUser } from '../../access/principal.ts';
import { afterCursor, cutPage, nextPage, PageQuery } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { languageOf } from '../../pages/index.ts';
import { defineRoute } from '../../platform.ts';
import { SessionErrors, withRecentProof } from '../sessions/index.ts';
import { UserErrors } from '../users/errors.ts';
import { CreateInvite, Invite, NewInvite } from '../users/schema.ts';
import { createInvite, deleteInvite, listInvites } from './invites.ts';

const { EMAIL_IN_USE, INVITE_NOT_FOUND, INVITES_CLOSED, TENANT_UNKNOWN } = UserErrors;

export const inviteRoutes = [
  defineRoute({
    method: 'POST',
    path: '/invites',
    summary: 'Invite a person to create an account',
    description:
      'The link is mailed if mail is configured, and shown once. It is valid for 7 days and one sign-up with ' +
      'this address. The first sign-in with an identity provider that confirms the address accepts the invitation ' +
      'too. A new invitation of the same address replaces it. A role other than `user` needs a recent use of the ' +
      'second factor, if the caller has one.',
    access: 'admin',
    body: CreateInvite,
    responses: { 201: NewInvite },
    secrets: ['url'],
    errors: [EMAIL_IN_USE, INVITES_CLOSED, TENANT_UNKNOWN, SessionErrors.REAUTHENTICATION_REQUIRED],
    handle: async (call, platform) => ({
      status: 201,
      body: await createInvite(
        platform,
        call.body,
        {
          userId: asUser(call.principal).userId,
          reauthorize: call.body.role === 'user' ? call.reauthorize : withRecentProof(platform, call),
          actor: call.actor,
        },
        languageOf(call.request),
      ),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/invites',
    summary: 'List invitations that can still be accepted',
    description: 'Oldest first. A Link header with rel="next" points to the next page.',
    access: 'admin',
    query: PageQuery,
    responses: { 200: z.array(Invite) },
    handle: async ({ query: { limit, cursor }, url }, platform) => {
      const { rows, next } = cutPage(
        await listInvites(platform, { limit: limit + 1, after: afterCursor('invite', cursor) }),
        limit,
      );
      return { status: 200, body: rows, ...nextPage(url, next) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/invites/:id',
    summary: 'Withdraw an invitation',
    access: 'admin',
    params: idParams('invite'),
    responses: { 204: null },
    errors: [INVITE_NOT_FOUND],
    handle: async (call, platform) => {
      await deleteInvite(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
];
