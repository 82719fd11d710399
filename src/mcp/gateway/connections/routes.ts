import { z } from 'zod';
import { asUser } from '../../../access/principal.ts';
import { defineRoute } from '../../../platform.ts';
import { ConnectionErrors } from './errors.ts';
import { deleteConnection, listConnections, putConnection } from './manage-connections.ts';
import { CALLBACK_PATH, CLIENT_METADATA_PATH, clientMetadata } from './oauth/client.ts';
import { callbackPage, connectForm, connectionsPage, connectPage } from './pages.ts';
import { ClientDocument, ConnectForm, Connection, PutConnection, SignInAnswer } from './schema.ts';

const HTML = { mediaTypes: ['text/html'] } as const;
const ofServer = z.object({ name: z.string() });
const { CONNECTION_NOT_FOUND, CONNECTION_BY_SIGN_IN, CONNECTION_SIGN_IN_INVALID, CONNECTION_UPSTREAM_FAILED } =
  ConnectionErrors;

/** Contract, section 20. No scope allows these routes, because they handle a person's secrets. */
export const connectionRoutes = [
  defineRoute({
    method: 'GET',
    path: '/gateway/connections',
    summary: "List the caller's connections to servers behind the gateway",
    description:
      'Lists the servers that need credentials of the person, and whether the caller has entered them. ' +
      'Credentials are never returned.',
    access: 'user',
    responses: { 200: z.array(Connection) },
    handle: async ({ principal }, platform) => ({
      status: 200,
      body: await listConnections(platform, asUser(principal).userId),
    }),
  }),
  defineRoute({
    method: 'PUT',
    path: '/gateway/connections/:name',
    summary: "Store the caller's credentials for a server behind the gateway",
    description:
      'The credentials are encrypted, and used only for calls of the caller and of agents that act for the caller. ' +
      'Processes that run with other credentials of the caller end.',
    access: 'user',
    params: ofServer,
    body: PutConnection,
    responses: { 200: Connection },
    errors: [CONNECTION_NOT_FOUND, CONNECTION_BY_SIGN_IN],
    handle: async (call, platform) => ({
      status: 200,
      body: await putConnection(
        platform,
        { reauthorize: call.reauthorize, actor: call.actor, principal: asUser(call.principal) },
        call.params.name,
        call.body.fields,
      ),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/gateway/connections/:name',
    summary: "Delete the caller's credentials for a server behind the gateway",
    description: 'Ends the processes and sessions of the caller immediately.',
    access: 'user',
    params: ofServer,
    responses: { 204: null },
    errors: [CONNECTION_NOT_FOUND],
    handle: async (call, platform) => {
      const { reauthorize, actor, principal, params } = call;
      await deleteConnection(platform, { reauthorize, actor, principal: asUser(principal) }, params.name);
      return { status: 204 };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/gateway/:name/connect',
    summary: 'Page that connects the caller to a server behind the gateway',
    access: 'user',
    page: true,
    params: ofServer,
    responses: { 200: HTML },
    errors: [CONNECTION_NOT_FOUND],
    handle: (call, platform) => connectPage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: '/gateway/:name/connect',
    summary: 'Form of the page that connects the caller to a server behind the gateway',
    access: 'user',
    page: true,
    params: ofServer,
    body: ConnectForm,
    form: true,
    responses: { 200: HTML, 303: null },
    errors: [CONNECTION_NOT_FOUND, CONNECTION_UPSTREAM_FAILED],
    handle: (call, platform) => connectForm(platform, call),
  }),
  defineRoute({
    method: 'GET',
    path: CALLBACK_PATH,
    summary: 'Redirect of an authorization server at which the caller signed in',
    description:
      'Completes a sign-in that the connect page of a server began, once and in the same browser, and stores the ' +
      'tokens.',
    access: 'user',
    page: true,
    query: SignInAnswer,
    responses: { 303: null },
    errors: [CONNECTION_NOT_FOUND, CONNECTION_SIGN_IN_INVALID, CONNECTION_UPSTREAM_FAILED],
    handle: (call, platform) => callbackPage(platform, call),
  }),
  defineRoute({
    method: 'GET',
    path: CLIENT_METADATA_PATH,
    summary: 'Client ID metadata document of this service',
    description: 'Describes this service to the authorization servers of servers behind the gateway.',
    access: 'public',
    responses: { 200: ClientDocument },
    handle: async (_call, platform) => ({ status: 200, body: clientMetadata(platform) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/account/servers',
    summary: "Page of the caller's connections to servers behind the gateway",
    access: 'user',
    page: true,
    responses: { 200: HTML },
    handle: (call, platform) => connectionsPage(platform, call),
  }),
];
