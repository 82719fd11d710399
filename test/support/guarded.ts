import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { revisionOf } from '../../src/mcp/guard/json-rpc.ts';
import { mirroredHeaders } from '../../src/mcp/guard/mirrored-headers.ts';
import { expressMcp, type LocalOptions, protectMcp } from '../../src/mcp/guard/protect.ts';
import { createTestService, type Json, type TestAgent, type TestService, type TestUser } from './service.ts';

export const ENDPOINT = 'http://localhost:3000/notes';

/** The response of the guarded server to a message, and its headers. */
export type Upstream = (message: Json) => { body: unknown; headers?: Record<string, string> };

export interface Guarded {
  readonly t: TestService;
  readonly owner: TestUser;
  /** Agents whose tokens are their names, or `name~client`. Both have the same permissions. */
  readonly agents: Readonly<Record<'mine' | 'other', TestAgent>>;
  /** All messages that the guarded server has received. */
  readonly reached: Json[];
  send(message: unknown, more?: { as?: string; headers?: Record<string, string>; method?: string }): Promise<Response>;
}

/** Starts a guarded server with the decisions of a real service, through one adapter of the guard. */
export async function guarded(
  face: 'web' | 'express' | 'express with a parser',
  permissions: unknown[],
  upstream: Upstream,
  options: Partial<LocalOptions> = {},
): Promise<Guarded> {
  const t = await createTestService();
  const server = await t.legate.mcp.registerServer({ name: 'notes', endpoint: ENDPOINT });
  const owner = await t.user();
  const agents = { mine: await t.agent(owner, { permissions }), other: await t.agent(owner, { permissions }) };
  const legate: LocalOptions['legate'] = {
    platform: t.legate.platform,
    authorize: t.legate.authorize,
    approvals: t.legate.approvals,
    mcp: {
      validateToken: async (token) => {
        const [name, clientId] = token.split('~');
        const agent = agents[name as 'mine' | 'other'] as TestAgent | undefined;
        return agent
          ? {
              valid: true,
              agentId: agent.id,
              userId: owner.id,
              scopes: ['mcp:execute'],
              expiresAt: new Date('2031-01-01'),
              ...(clientId !== undefined && { clientId }),
            }
          : { valid: false };
      },
    },
  };
  const reached: Json[] = [];
  const answer = (text: string): { body: string; headers: Record<string, string> } => {
    const message = (text === '' ? {} : JSON.parse(text)) as Json;
    reached.push(message);
    const { body, headers = {} } = upstream(message);
    const asItIs = typeof body === 'string' || body instanceof ReadableStream;
    return {
      body: asItIs ? (body as string) : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    };
  };
  const all = { legate, server, approvalWaitSeconds: 0, ...options };
  let address = ENDPOINT;
  let handle = protectMcp(async (request) => {
    const { body, headers } = answer(await request.text());
    return new Response(body, { headers });
  }, all);
  if (face !== 'web') {
    const app = express();
    if (face === 'express with a parser') app.use(express.json());
    app.use(expressMcp(all));
    if (face === 'express') app.use(express.json());
    app.use((req, res) => {
      const { body, headers } = answer(JSON.stringify(req.body));
      res.writeHead(200, headers).end(body);
    });
    const http: Server = createServer(app);
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    http.unref();
    address = `http://localhost:${(http.address() as AddressInfo).port}/notes`;
    handle = (request) => fetch(request);
  }
  return {
    t,
    owner,
    agents,
    reached,
    send: (message, { as = 'mine', headers = {}, method = 'POST' } = {}) =>
      handle(
        new Request(address, {
          method,
          headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json', ...headers },
          ...(method === 'GET' ? {} : { body: JSON.stringify(message) }),
        }),
      ),
  };
}

export const rpc = (method: string, params: Json = {}, id: number | undefined = 1): Json => ({
  jsonrpc: '2.0',
  ...(id === undefined ? {} : { id }),
  method,
  params,
});

/** Returns the same message in the format of MCP 2026-07-28, from a client with these capabilities. */
export const modern = (method: string, params: Json = {}, capabilities: Json = {}): Json =>
  rpc(method, {
    ...params,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    },
  });

/** Returns the headers with which a client sends a message of MCP 2026-07-28; none for earlier revisions. */
export const mcpHeaders = (message: Json): Record<string, string> =>
  revisionOf(message) === undefined ? {} : mirroredHeaders(message);
