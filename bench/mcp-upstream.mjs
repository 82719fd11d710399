// A minimal MCP server over Streamable HTTP that answers every request immediately. TOOLS is the number of its tools.
import { createServer } from 'node:http';

const tools = Array.from({ length: Number(process.env.TOOLS ?? 1) }, (_, i) => ({
  name: `tool_${i}`,
  description: `Does the work number ${i}, with a description of ordinary length for the model to read.`,
  inputSchema: { type: 'object', properties: { repo: { type: 'string' }, page: { type: 'integer' } } },
}));
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
  'tools/list': { tools },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
};
const server = createServer({ keepAliveTimeout: 65_000 }, (req, res) => {
  if (req.url === '/health/ready') return res.end();
  if (req.method !== 'POST') return res.writeHead(405).end();
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    if (id === undefined) return res.writeHead(202).end();
    const body = JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} });
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    res.end(body);
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', () => process.exit(0));
