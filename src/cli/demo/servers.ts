import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expressMcp } from '../../mcp.ts';
import type { Legate } from '../../service.ts';

/** The MCP servers of the demo that answer: one that is right, and one that `legate doctor` finds fault with. */
export interface DemoServers {
  /** Address of the wiki, which checks tokens and asks for decisions. */
  readonly wiki: string;
  readonly bank: string;
  close(): Promise<void>;
}

const PAGES: Readonly<Record<string, string>> = {
  refunds: 'A refund above 500 needs the approval of a person.',
  incidents: 'Write what happened, when, and who was told.',
};
const TOOLS = [
  { name: 'search', description: 'Names of the pages', inputSchema: { type: 'object', properties: {} } },
  {
    name: 'read',
    description: 'Text of a page',
    inputSchema: { type: 'object', properties: { page: { type: 'string' } }, required: ['page'] },
  },
];
export const WIKI_TOOLS = TOOLS.map(({ name }) => name);

/** Starts both on one free port of loopback, and registers them. */
export async function startServers(legate: Legate): Promise<DemoServers> {
  const passes: ((req: IncomingMessage, res: ServerResponse) => void)[] = [];
  const server = createServer((req, res) => {
    const [pass] = passes;
    if (req.url?.startsWith('/bank')) refuseWithoutSayingWhere(res);
    else if (pass) pass(req, res);
    else res.writeHead(503).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [wiki, bank] = [`${base}/wiki/mcp`, `${base}/bank/mcp`];
  const registered = await legate.mcp.registerServer({ name: 'wiki', endpoint: wiki, tools: WIKI_TOOLS });
  await legate.mcp.registerServer({ name: 'bank', endpoint: bank, tools: ['payments', 'accounts'] });
  const guard = expressMcp({ legate, server: registered });
  passes.push((req, res) => guard(req, res, () => void answer(req, res)));
  return {
    wiki,
    bank,
    close: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/** The mistake of the bank: clients do not learn where to get a token (RFC 9728, section 5.1). */
const refuseWithoutSayingWhere = (res: ServerResponse): void => {
  res.writeHead(401, { 'www-authenticate': 'Bearer realm="bank"' }).end();
};

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly protocolVersion?: string;
    readonly name?: string;
    readonly arguments?: { page?: string };
  };
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Message;
  const result = resultOf(method, params);
  if (id === undefined) res.writeHead(202).end();
  else
    res.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        ...(result ? { result } : { error: { code: -32_601, message: 'Method not found' } }),
      }),
    );
}

function resultOf(method: string | undefined, params: Message['params']): object | undefined {
  if (method === 'initialize')
    return {
      protocolVersion: params?.protocolVersion ?? '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'wiki', version: '1.0.0' },
    };
  if (method === 'ping') return {};
  if (method === 'tools/list') return { tools: TOOLS };
  if (method !== 'tools/call') return undefined;
  const text =
    params?.name === 'search'
      ? Object.keys(PAGES).join(', ')
      : (PAGES[params?.arguments?.page ?? ''] ?? 'No such page');
  return { content: [{ type: 'text', text }] };
}
