import { z } from 'zod';
import { AgentErrors } from '../authorization/agents/index.ts';
import { afterCursor, cutPage, nextPage, PageQuery } from '../http/page.ts';
import { idParams } from '../kernel/id-schema.ts';
import { isoTimestamp } from '../kernel/json.ts';
import { defineRoute, type Platform } from '../platform.ts';
import { GRANT_KINDS } from '../storage/index.ts';
import { RedirectedError, readAuthorizationRequest } from './authorize/authorization-request.ts';
import { type AuthorizeCall, mayRedirect } from './authorize/authorize.ts';
import { getClientRow, toClientRecord } from './clients/client.ts';
import { deleteClient, listClients } from './clients/delete-client.ts';
import { redirectHost } from './clients/redirect-uri.ts';
import { AdminClientMetadata, Registered, registerClient } from './clients/register-client.ts';
import { APPS_PATH, appsPage, endOnPage } from './consent/apps-page.ts';
import {
  assertConsentOrigin,
  ConsentDecision,
  ConsentDetails,
  decideByApi,
  getConsentDetails,
} from './consent/consent-api.ts';
import { endGrant, findGrants, getGrant, toGrant } from './consent/grants.ts';
import { ClientErrors, OAuthErrors } from './errors.ts';

const HTML = { mediaTypes: ['text/html'] } as const;
const BODY_LIMIT = 65_536;
const authorizeErrors = [ClientErrors.AUTHORIZATION_REQUEST_INVALID];

const RefusedRequest = z
  .object({
    redirectTo: z.string(),
    redirectHost: z.string(),
    confirm: z.boolean().meta({
      description:
        'True for an unverified client: show `redirectHost` and let the person follow a link instead of redirecting.',
    }),
  })
  .meta({ id: 'RefusedAuthorizationRequest' });

const toRefusedRequest = async (
  platform: Pick<Platform, 'database'>,
  call: AuthorizeCall,
  { to, location }: RedirectedError,
) => ({
  redirectTo: location,
  redirectHost: redirectHost(to.redirectUri),
  confirm: !(await mayRedirect(platform, call, to)),
});

const Grant = z
  .object({
    id: z.string(),
    clientId: z.string(),
    clientName: z.string().nullable(),
    userId: z.string(),
    agentId: z.string(),
    agentName: z.string().nullable(),
    actorId: z.string().optional().meta({
      description: 'With an exchanged token: the agent that acts. `agentId` is the agent for which it acts.',
    }),
    kind: z.enum(GRANT_KINDS),
    scopes: z.array(z.string()),
    resource: z.string(),
    createdAt: isoTimestamp,
    lastUsedAt: isoTimestamp,
    expiresAt: isoTimestamp,
  })
  .meta({ id: 'Grant' });

/** Consent API, grants, clients, and the page of connected applications (contract 12.7 and 12.10). */
export const managementRoutes = [
  defineRoute({
    method: 'GET',
    path: '/oauth/consent',
    summary: 'Get the content of a custom consent page',
    description: 'Pass the query that the page at mcp.consentPage received.',
    access: 'user',
    responses: { 200: ConsentDetails, 422: RefusedRequest },
    errors: authorizeErrors,
    handle: async (call, platform) => {
      try {
        const authRequest = await readAuthorizationRequest(platform, call.url.searchParams);
        return {
          status: 200,
          body: await getConsentDetails(platform, (await call.requireUser()).principal, authRequest),
        };
      } catch (error) {
        if (error instanceof RedirectedError)
          return { status: 422, body: await toRefusedRequest(platform, call as unknown as AuthorizeCall, error) };
        throw error;
      }
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/oauth/consent',
    summary: 'Allow or deny an authorization request',
    description:
      'The query is the one that the page received, and the body has the `consentToken` that GET /oauth/consent ' +
      'returned. Send the browser to `redirectTo`. A request with a session cookie must come from the origin of this ' +
      'service or of mcp.consentPage.',
    access: 'user',
    body: ConsentDecision,
    responses: {
      200: z
        .object({ redirectTo: z.string() })
        .meta({ description: 'The address for the browser, at the application.' }),
    },
    secrets: ['redirectTo'],
    errors: [
      ...authorizeErrors,
      OAuthErrors.OAUTH_INVALID_SCOPE,
      OAuthErrors.OAUTH_INVALID_REQUEST,
      OAuthErrors.OAUTH_ACCESS_DENIED,
      ClientErrors.CONSENT_TOKEN_INVALID,
      ClientErrors.CONSENT_ALREADY_GIVEN,
      AgentErrors.AGENT_LIMIT_EXCEEDED,
      AgentErrors.OWNER_NOT_FOUND,
    ],
    handle: async (call, platform) => {
      assertConsentOrigin(platform, call.request);
      try {
        const authRequest = await readAuthorizationRequest(platform, call.url.searchParams);
        return {
          status: 200,
          body: { redirectTo: await decideByApi(platform, await call.requireUser(), authRequest, call.body) },
        };
      } catch (error) {
        if (error instanceof RedirectedError) return { status: 200, body: { redirectTo: error.location } };
        throw error;
      }
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/oauth/grants',
    summary: 'List grants',
    description:
      'People see their own grants, admins see all. Newest first. A Link header with rel="next" points to the next ' +
      'page.',
    access: 'user',
    query: PageQuery,
    responses: {
      200: z.array(Grant),
    },
    handle: async (call, platform) => {
      const { limit, cursor } = call.query;
      const { rows, next } = cutPage(
        await findGrants(platform.database.read, call.visibility, platform.clock.now(), {
          after: afterCursor('grant', cursor),
          limit: limit + 1,
        }),
        limit,
      );
      return { status: 200, body: rows.map(toGrant), ...nextPage(call.url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/oauth/grants/:id',
    summary: 'Get a grant',
    access: 'user',
    params: idParams('grant'),
    responses: { 200: Grant },
    errors: [ClientErrors.GRANT_NOT_FOUND],
    handle: async (call, platform) => {
      const { database, clock } = platform;
      return {
        status: 200,
        body: toGrant(await getGrant(database.read, call.visibility, clock.now(), call.params.id)),
      };
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/oauth/grants/:id',
    summary: 'End a grant',
    description:
      'Ends all its tokens immediately; the client has to ask the person again. An agent that a consent created is ' +
      'revoked with its last grant. An agent that the person chose is kept.',
    access: 'user',
    preview: true,
    params: idParams('grant'),
    responses: { 204: null },
    errors: [ClientErrors.GRANT_NOT_FOUND],
    handle: async (call, platform) => {
      await endGrant(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/oauth/clients',
    summary: 'Create a client',
    description:
      'Creates a client without a warning on its consent page. The body is a registration (RFC 7591). `resources` ' +
      'names the MCP servers whose access tokens the client may introspect.',
    access: 'admin',
    body: AdminClientMetadata,
    bodyLimit: BODY_LIMIT,
    responses: { 201: Registered },
    secrets: ['client_secret'],
    errors: [OAuthErrors.OAUTH_INVALID_REDIRECT_URI, OAuthErrors.OAUTH_INVALID_CLIENT_METADATA],
    handle: async (call, platform) => ({
      status: 201,
      body: await registerClient(platform, call, call.body, 'admin'),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/oauth/clients',
    summary: 'List clients',
    description: 'Newest first. A Link header with rel="next" points to the next page.',
    access: 'admin',
    query: PageQuery,
    responses: { 200: z.array(Registered) },
    handle: async (call, platform) => {
      const { limit, cursor } = call.query;
      const { rows, next } = cutPage(
        await listClients(platform, { after: afterCursor('client', cursor), limit: limit + 1 }),
        limit,
      );
      return { status: 200, body: rows.map(toClientRecord), ...nextPage(call.url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/oauth/clients/:id',
    summary: 'Get a client',
    access: 'admin',
    versioned: true,
    params: idParams('client'),
    responses: { 200: Registered },
    errors: [ClientErrors.CLIENT_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: toClientRecord(await getClientRow(platform.database.read, call.params.id)),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/oauth/clients/:id',
    summary: 'Delete a client',
    description: 'Ends all its grants immediately, and revokes the agents that consents created only for it.',
    access: 'admin',
    preview: true,
    versioned: true,
    params: idParams('client'),
    responses: { 204: null },
    errors: [ClientErrors.CLIENT_NOT_FOUND],
    handle: async (call, platform) => {
      await deleteClient(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
  defineRoute({
    method: 'GET',
    path: APPS_PATH,
    summary: 'Page of connected applications',
    access: 'public',
    page: true,
    query: z.object({ ended: z.string().max(10).optional(), lang: z.string().max(10).optional() }),
    responses: { 200: HTML },
    handle: async (call, platform) =>
      appsPage(platform, call.request, (await call.requireUser()).principal, call.query.ended !== undefined),
  }),
  defineRoute({
    method: 'POST',
    path: APPS_PATH,
    summary: 'End the access of an application',
    access: 'public',
    page: true,
    form: 'only',
    body: z.object({ grant: z.string().max(100) }),
    responses: { 303: null },
    errors: [ClientErrors.GRANT_NOT_FOUND],
    handle: async (call, platform) => {
      return endOnPage(platform, await call.requireUser(), call.body.grant);
    },
  }),
];
