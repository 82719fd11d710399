import { z } from 'zod';
import { CommonErrors, type LegateError } from '../../kernel/errors.ts';
import { type Call, defineRoute, type Platform } from '../../platform.ts';
import type { ClientAnswer } from './answers.ts';
import { gatewayServers } from './gateway.ts';

/** A message of JSON-RPC, or an error of OAuth. */
const Refusal = z.looseObject({});
const Params = z.object({ name: z.string() });

const common = {
  path: '/gateway/:name/mcp',
  access: 'public',
  checksItself: ['bearer'],
  params: Params,
  // The guard reads the body. Errors before that have the same form as its errors.
  errorBody: ({ code, message }: LegateError) => ({ error: code.toLowerCase(), error_description: message }),
  errors: [CommonErrors.NOT_FOUND],
  // Some clients compare the whole media type.
  contentType: 'application/json',
  serialize: (text: unknown) => text as string,
} as const;

const refusals = { 400: Refusal, 401: Refusal, 403: Refusal, 404: Refusal, 413: Refusal, 503: Refusal };

function answer(
  call: Call<{ name: string }, unknown, unknown>,
  { stateOf }: Pick<Platform, 'stateOf'>,
): Promise<ClientAnswer> {
  const relay = stateOf(gatewayServers).get(call.params.name);
  if (!relay) throw CommonErrors.NOT_FOUND();
  return relay.answer(call);
}

/** Contract, section 20. */
export const gatewayRoutes = [
  defineRoute({
    ...common,
    method: 'POST',
    fastPath: true,
    summary: 'Send a message to an MCP server through the gateway',
    description:
      'MCP over Streamable HTTP, revisions 2025-03-26 to 2026-07-28. Accepts an access token for this endpoint or an ' +
      "agent's own token. Each tool call is decided and recorded before it is passed on.",
    responses: {
      200: {
        mediaTypes: ['application/json', 'text/event-stream'],
        json: z.unknown().meta({ description: 'The answer of the server.' }),
      },
      202: null,
      ...refusals,
      415: Refusal,
    },
    handle: (call, platform) => answer(call, platform),
  }),
  defineRoute({
    ...common,
    method: 'GET',
    summary: 'Receive notifications of an MCP server',
    description: 'Streamable HTTP of MCP before 2026-07-28: the stream of a session.',
    noHead: true,
    responses: { 200: { mediaTypes: ['text/event-stream'] }, ...refusals, 405: Refusal },
    handle: (call, platform) => answer(call, platform),
  }),
  defineRoute({
    ...common,
    method: 'DELETE',
    summary: 'End a session with an MCP server',
    description: 'Streamable HTTP of MCP before 2026-07-28.',
    responses: { 204: null, ...refusals, 405: Refusal },
    handle: (call, platform) => answer(call, platform),
  }),
];
