// An MCP server with a login: notes that an agent may search and add to. README.md explains it step by step.
import { serve } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { Hono } from 'hono';
import { createLegate, honoLegate, honoMcp } from 'legate';
import { z } from 'zod';

const port = Number(process.env.PORT ?? 4000);
const base = `http://localhost:${port}`;

const notes = new Map([['1', 'Buy milk']]);

/** The MCP server itself, which does not handle logins. A new one is created for each request. */
function notesServer() {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  const text = (value) => ({ content: [{ type: 'text', text: value }] });
  server.registerTool(
    'search',
    { description: 'Search notes', inputSchema: z.object({ query: z.string() }) },
    ({ query }) =>
      text(
        [...notes]
          .filter(([, note]) => note.toLowerCase().includes(query.toLowerCase()))
          .map(([id, note]) => `${id}: ${note}`)
          .join('\n') || 'nothing found',
      ),
  );
  server.registerTool('add', { description: 'Add a note', inputSchema: z.object({ note: z.string() }) }, ({ note }) => {
    const id = String(notes.size + 1);
    notes.set(id, note);
    return text(`added as ${id}`);
  });
  server.registerTool('whoami', { description: 'Who calls, for whom' }, ({ http }) =>
    text(JSON.stringify(http?.authInfo?.extra)),
  );
  return server;
}

const legate = await createLegate({ baseUrl: base });
const app = new Hono();

// The login, in three statements. The guard comes before Legate and the MCP server.
const server = await legate.mcp.registerServer({
  name: 'notes',
  endpoint: `${base}/notes/mcp`,
  tools: ['search', 'add', 'whoami'],
  rateLimit: { rpm: 60 },
});
app.use(honoMcp({ legate, server, allowedOrigins: [base] }));
app.use(honoLegate(legate));

// Supports MCP 2026-07-28 and the revisions before it.
const mcp = createMcpHandler(notesServer);
app.all('/notes/mcp', (c) => mcp.fetch(c.req.raw, { authInfo: c.get('authInfo') }));

const listening = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, () =>
  console.log(`MCP server: ${base}/notes/mcp   people: ${base}/account/sign-in`),
);
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    listening.close(() => void legate.close());
    listening.closeAllConnections();
  });
}
