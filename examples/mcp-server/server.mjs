// An MCP server with a login in front: notes that an agent may search, add to and delete. README.md leads through it.
import { serve } from '@hono/node-server';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { Hono } from 'hono';
import { createLegate } from 'legate';
import { honoMcp } from 'legate/mcp';
import { z } from 'zod';

const port = Number(process.env.PORT ?? 4000);
const base = `http://localhost:${port}`;

/** The server itself: nothing here knows of logins. */
const notes = new Map([['1', 'Buy milk']]);
function notesServer() {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  const text = (value) => ({ content: [{ type: 'text', text: value }] });
  server.registerTool('search', { description: 'Search notes', inputSchema: { query: z.string() } }, ({ query }) =>
    text(
      [...notes]
        .filter(([, note]) => note.toLowerCase().includes(query.toLowerCase()))
        .map(([id, note]) => `${id}: ${note}`)
        .join('\n') || 'nothing found',
    ),
  );
  server.registerTool('add', { description: 'Add a note', inputSchema: { note: z.string() } }, ({ note }) => {
    const id = String(notes.size + 1);
    notes.set(id, note);
    return text(`added as ${id}`);
  });
  server.registerTool('whoami', { description: 'Who calls, for whom', inputSchema: {} }, (_args, { authInfo }) =>
    text(JSON.stringify(authInfo?.extra)),
  );
  return server;
}

const legate = await createLegate({ baseUrl: base });
const app = new Hono();

// The login, in three lines.
const server = await legate.mcp.registerServer({
  name: 'notes',
  endpoint: `${base}/notes`,
  tools: ['search', 'add', 'whoami'],
  rateLimit: { rpm: 60 },
});
app.use(honoMcp({ legate, server, allowedOrigins: [base] }));
app.all('*', (c, next) =>
  c.req.path === '/notes' ? next() : legate.fetch(c.req.raw, { remoteAddress: c.env.incoming.socket.remoteAddress }),
);

app.all('/notes', async (c) => {
  const transport = new WebStandardStreamableHTTPServerTransport();
  await notesServer().connect(transport);
  return transport.handleRequest(c.req.raw, { authInfo: c.get('authInfo') });
});

const listening = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, () =>
  console.log(`MCP server: ${base}/notes   people: ${base}/account/sign-in`),
);
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    listening.close(() => void legate.close());
    listening.closeAllConnections();
  });
}
