import { z } from 'zod';
import { asUser } from '../../access/principal.ts';
import { afterCursor, cutPage, nextPage, PageQuery } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { SessionErrors, withRecentProof } from '../sessions/index.ts';
import { createApiToken } from './create-api-token.ts';
import { ApiTokenErrors } from './errors.ts';
import { listApiTokens } from './list-api-tokens.ts';
import { revokeApiToken } from './revoke-api-token.ts';
import { ApiToken, ApiTokenWithSecret, CreateApiToken } from './schema.ts';

/** Contract, section 4. No scope allows these routes, so a narrowed token cannot create a token with more rights. */
export const apiTokenRoutes = [
  defineRoute({
    method: 'POST',
    path: '/api-tokens',
    summary: 'Create an API token',
    description:
      'Creates a token of the caller, who can have up to 50. The token is shown only in this answer. A token ' +
      'created with an API token expires no later than that one.',
    access: 'user',
    effect: 'ownAccount',
    body: CreateApiToken,
    responses: { 201: ApiTokenWithSecret },
    secrets: ['token'],
    errors: [
      SessionErrors.REAUTHENTICATION_REQUIRED,
      ApiTokenErrors.EXPIRES_AT_IN_PAST,
      ApiTokenErrors.API_TOKEN_LIMIT_EXCEEDED,
    ],
    handle: async (call, platform) => ({
      status: 201,
      body: await createApiToken(
        platform,
        { reauthorize: withRecentProof(platform, call), actor: call.actor },
        asUser(call.principal),
        call.body,
      ),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/api-tokens',
    summary: "List the caller's API tokens",
    description: 'Oldest first, without the token values. A Link header with rel="next" points to the next page.',
    access: 'user',
    query: PageQuery,
    responses: { 200: z.array(ApiToken) },
    handle: async ({ principal, query: { limit, cursor }, url }, platform) => {
      const { rows, next } = cutPage(
        await listApiTokens(platform, asUser(principal).userId, {
          limit: limit + 1,
          after: afterCursor('apiToken', cursor),
        }),
        limit,
      );
      return { status: 200, body: rows, ...nextPage(url, next) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api-tokens/:id',
    summary: 'Revoke an API token',
    description: 'Takes effect immediately. An administrator can revoke any token.',
    access: 'user',
    preview: true,
    effect: 'ownAccount',
    params: idParams('apiToken'),
    responses: { 204: null },
    errors: [ApiTokenErrors.API_TOKEN_NOT_FOUND],
    handle: async (call, platform) => {
      await revokeApiToken(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
];
