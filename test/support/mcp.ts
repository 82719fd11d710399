import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { z } from 'zod';
import {
  expressMcp,
  fastifyMcp,
  honoMcp,
  type McpAuth,
  type ProtectMcpOptions,
  protectMcp,
} from '../../src/mcp/guard/protect.ts';

/** Creates an MCP server with three tools, using the official SDK. The tool `who` returns the caller. */
export function notesServer(): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
  server.registerTool(
    'search',
    { description: 'Search notes', inputSchema: { query: z.string() } },
    async ({ query }) => text(`found ${query}`),
  );
  server.registerTool('delete', { description: 'Delete a note', inputSchema: { id: z.string() } }, async ({ id }) =>
    text(`deleted ${id}`),
  );
  server.registerTool('who', { description: 'Who calls', inputSchema: {} }, async (_args, { authInfo }) =>
    text(JSON.stringify(authInfo?.extra ?? null)),
  );
  return server;
}

/** Answers one request with a new server. */
export const webAnswer = async (request: Request, authInfo: McpAuth | undefined, json: boolean): Promise<Response> => {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: json });
  await notesServer().connect(transport);
  return transport.handleRequest(request, authInfo ? { authInfo } : {});
};

const nodeAnswer = async (
  req: Parameters<StreamableHTTPServerTransport['handleRequest']>[0],
  res: Parameters<StreamableHTTPServerTransport['handleRequest']>[1],
  json: boolean,
  body?: unknown,
): Promise<void> => {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: json });
  await notesServer().connect(transport as Parameters<McpServer['connect']>[0]);
  await transport.handleRequest(req, res, body);
};

/** Starts a guarded server on loopback, for each adapter. `options` is called with the URL of the endpoint. */
export type StartGuarded = (
  options: (endpoint: string) => ProtectMcpOptions,
  json?: boolean,
) => Promise<{ url: string; endpoint: string; close: () => Promise<void> }>;

async function listening(server: Server): Promise<{ url: string; endpoint: string; close: () => Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url, endpoint: `${url}/mcp`, close };
}

/** Creates the framework's handler once the port is known. */
async function later(make: (endpoint: string) => unknown): Promise<Awaited<ReturnType<StartGuarded>>> {
  let handle: RequestListener | undefined;
  const server = createServer((req, res) => handle?.(req, res));
  const started = await listening(server);
  handle = (await make(started.endpoint)) as RequestListener;
  return started;
}

const expressWith =
  (parser: 'none' | 'before' | 'behind'): StartGuarded =>
  (options, json = false) =>
    later((endpoint) => {
      const app = express();
      if (parser === 'before') app.use(express.json());
      app.use(expressMcp(options(endpoint)));
      if (parser === 'behind') app.use(express.json());
      app.get('/open', (_req, res) => void res.send('open'));
      app.all('/mcp', (req, res) => nodeAnswer(req as never, res, json, parser === 'none' ? undefined : req.body));
      return app;
    });

export const adapters: Readonly<Record<string, StartGuarded>> = {
  'a web handler': (options, json = false) =>
    later((endpoint) =>
      getRequestListener(
        protectMcp((request, { authInfo }) => webAnswer(request, authInfo, json), options(endpoint)),
        { overrideGlobalObjects: false },
      ),
    ),
  Hono: (options, json = false) =>
    later((endpoint) => {
      const app = new Hono<{ Variables: { authInfo: McpAuth | undefined } }>();
      app.use(honoMcp(options(endpoint)));
      app.get('/open', (c) => c.text('open'));
      app.all('/mcp', (c) => webAnswer(c.req.raw, c.get('authInfo'), json));
      return getRequestListener(app.fetch, { overrideGlobalObjects: false });
    }),
  Express: expressWith('none'),
  'Express behind its body parser': expressWith('before'),
  'Express before its body parser': expressWith('behind'),
  Fastify: (options, json = false) =>
    later(async (endpoint) => {
      const app = fastify();
      await app.register(fastifyMcp(options(endpoint)));
      app.get('/open', async () => 'open');
      app.all('/mcp', async (request, reply) => {
        reply.hijack();
        await nodeAnswer(
          Object.assign(request.raw, { auth: (request as unknown as { authInfo?: McpAuth }).authInfo }) as never,
          reply.raw,
          json,
          request.body,
        );
      });
      await app.ready();
      return ((req, res) => app.routing(req, res)) satisfies RequestListener;
    }),
};
