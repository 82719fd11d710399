import { z } from 'zod';
import { asUser } from '../../access/principal.ts';
import { afterCursor, cutPage, nextPage, PageQuery } from '../../http/page.ts';
import { defineRoute } from '../../platform.ts';
import { SessionErrors, withRecentProof } from '../sessions/index.ts';
import { createApiToken } from './create-api-token.ts';
import { ApiTokenErrors } from './errors.ts';
import { listApiTokens } from './list-api-tokens.ts';
import { revokeApiToken } from './revoke-api-token.ts';
import { ApiToken, ApiTokenWithSecret, CreateApiToken } from './schema.ts';

/** Contract, section 4. A narrowed token gets in nowhere here, so none can make one with more power than its own. */
export const apiTokenRoutes = [
  defineRoute({
    method: 'POST',
    path: '/api-tokens',
    summary: 'Make an API token',
    description:
      'For the caller, who can have 50. The token is shown here and never again. One made with an API token that expires cannot live longer than that one.',
    access: 'user',
    body: CreateApiToken,
    responses: { 201: ApiTokenWithSecret },
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
    description: 'Oldest first, without the tokens themselves. A Link header with rel="next" leads to the next page.',
    access: 'user',
    query: PageQuery,
    responses: { 200: z.array(ApiToken) },
    handle: async ({ principal, query: { limit, cursor }, url }, platform) => {
      const { rows, next } = cutPage(
        await listApiTokens(platform, asUser(principal).userId, { limit: limit + 1, after: afterCursor(cursor) }),
        limit,
      );
      return { status: 200, body: rows, ...nextPage(url, next) };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/api-tokens/:id',
    summary: 'End an API token',
    description: "At once. An administrator may end anybody's.",
    access: 'user',
    params: z.object({ id: z.string() }),
    responses: { 204: null },
    errors: [ApiTokenErrors.API_TOKEN_NOT_FOUND],
    handle: async (call, platform) => {
      await revokeApiToken(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
];
