import { protectMcp } from 'legate';
import { createMcpHandler } from 'mcp-handler';
import { legate } from '../../legate';

// An MCP server at /mcp, with a login. Delete this folder if the application has none.
const notes = createMcpHandler((server) => {
  server.registerTool('today', { description: 'Notes of today' }, () => ({
    content: [{ type: 'text', text: 'Buy milk' }],
  }));
});

async function guard(): Promise<(request: Request) => Promise<Response>> {
  const service = await legate();
  const endpoint = `${service.baseUrl}/mcp`;
  const server = await service.mcp.registerServer({ name: 'notes', endpoint, tools: ['today'] });
  return protectMcp((request, { authInfo }) => notes(Object.assign(request, authInfo && { auth: authInfo })), {
    legate: service,
    server,
    allowedOrigins: [service.baseUrl],
  });
}

let guarded: Promise<(request: Request) => Promise<Response>> | undefined;

async function handler(request: Request): Promise<Response> {
  guarded ??= guard().catch((error: unknown) => {
    guarded = undefined;
    throw error;
  });
  return (await guarded)(request);
}

export { handler as DELETE, handler as GET, handler as OPTIONS, handler as POST };
