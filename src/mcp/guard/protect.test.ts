import { connect } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adapters, type StartGuarded } from '../../../test/support/mcp.ts';
import type { GuardingLegate, TokenValidation, ToolDecision } from './protect.ts';

const ISSUER = 'https://legate.example';
const valid = (scopes: string[]): TokenValidation => ({
  valid: true,
  agentId: 'agt_1',
  userId: 'usr_1',
  clientId: 'cli_1',
  scopes,
  expiresAt: new Date('2031-01-01T00:00:00Z'),
});
const tokens: Record<string, TokenValidation> = {
  all: valid(['mcp:read', 'mcp:execute']),
  execute: valid(['mcp:execute']),
  read: valid(['mcp:read']),
  other: valid(['agents:read']),
};

/** The decisions that were requested. `delete` is not permitted. */
const asked: { resource: string; dryRun?: boolean; arguments?: unknown; action: string }[] = [];
const decisionOn = (resource: string): ToolDecision => {
  if (resource.endsWith(':delete')) return { allowed: false, reason: 'NO_PERMISSION', auditId: 'aud_1' };
  if (resource.endsWith(':who-limited'))
    return { allowed: false, reason: 'RATE_LIMITED', auditId: 'aud_2', retryAfter: 7 };
  return { allowed: true, auditId: 'aud_3' };
};
const legate = (audience: string): GuardingLegate => ({
  platform: { issuer: ISSUER, audience: ISSUER },
  mcp: {
    validateToken: async (token, options) =>
      options.audience === audience ? (tokens[token] ?? { valid: false }) : { valid: false },
  },
  authorize: async (question) => {
    asked.push(question);
    return decisionOn(question.resource);
  },
});

const start = (adapter: StartGuarded, json = false): ReturnType<StartGuarded> =>
  adapter((endpoint) => ({ legate: legate(endpoint), server: { name: 'notes', endpoint } }), json);

async function clientOf(endpoint: string, token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(endpoint), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }) as never,
  );
  return client;
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const call = (name: string, id: number | undefined = 1, args: unknown = { query: 'x', id: 'x' }) => ({
  jsonrpc: '2.0',
  ...(id === undefined ? {} : { id }),
  method: 'tools/call',
  params: { name, arguments: args },
});
const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as BodyInit) : JSON.stringify(body),
  });
const as = (token: string) => ({ authorization: `Bearer ${token}` });

describe.each(Object.entries(adapters))('protected by %s', (_name, adapter) => {
  let server: Awaited<ReturnType<StartGuarded>>;
  beforeAll(async () => {
    server = await start(adapter);
  });
  afterAll(() => server.close());

  const place = () =>
    `issuer="${ISSUER}", resource="${server.endpoint}", ` +
    `resource_metadata="${server.url}/.well-known/oauth-protected-resource/mcp"`;

  it('[RFC 9728 5.1] a request without a token is 401: the challenge names metadata and scopes, no error', async () => {
    for (const response of [
      await post(server.endpoint, call('search')),
      await fetch(server.endpoint),
      await fetch(server.endpoint, { method: 'DELETE' }),
    ]) {
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([
        401,
        `Bearer scope="mcp:read mcp:execute", ${place()}`,
      ]);
      expect(response.headers.get('content-type')).toContain('application/json');
    }
  });

  it.each([
    ['Bearer unknown'],
    ['Bearer '],
    ['Bearer a b'],
    ['Bearer all, Bearer all'],
    ['Basic YWxsOmFsbA=='],
    ['all'],
    [`Bearer ${'x'.repeat(9000)}`],
  ])('[RFC 6750 3.1] a request is 401 invalid_token with %s', async (authorization) => {
    const response = await post(server.endpoint, call('search'), { authorization });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toMatch(
      /^Bearer error="invalid_token", error_description="[^"]+", scope="mcp:read mcp:execute", issuer="/,
    );
  });

  it('[MCP 2025-03-26 authorization] a token in the address is ignored: 401', async () => {
    const response = await post(`${server.endpoint}?access_token=all&token=all`, call('search'));
    expect([response.status, response.headers.get('www-authenticate')?.includes('error=')]).toEqual([401, false]);
  });

  it('[RFC 6750 3.1] a 403 names all required scopes together; a broader scope is sufficient', async () => {
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const lacking = await post(server.endpoint, call('search'), as('read'));
    expect([lacking.status, lacking.headers.get('www-authenticate')]).toEqual([
      403,
      `Bearer error="insufficient_scope", error_description="The token lacks a scope that this request needs.", ` +
        `scope="mcp:read mcp:execute", ${place()}`,
    ]);
    expect((await post(server.endpoint, list, as('other'))).headers.get('www-authenticate')).toContain(
      'scope="mcp:read", issuer',
    );
    expect((await post(server.endpoint, list, as('read'))).status).toBe(200);
    expect((await post(server.endpoint, call('search'), as('execute'))).status).toBe(200);
  });

  it('[RFC 9728 3] a guarded server serves its own metadata, readable from every origin', async () => {
    const response = await fetch(`${server.url}/.well-known/oauth-protected-resource/mcp`);
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    expect(await response.json()).toEqual({
      resource: server.endpoint,
      authorization_servers: [ISSUER],
      bearer_methods_supported: ['header'],
      scopes_supported: ['mcp:read', 'mcp:execute'],
      resource_name: 'notes',
    });
    expect((await fetch(`${server.url}/.well-known/oauth-protected-resource/mcp/`)).status).not.toBe(200);
  });

  it('answers preflight requests of the resource, and lets pages read the challenge', async () => {
    const response = await fetch(server.endpoint, {
      method: 'OPTIONS',
      headers: { origin: 'https://x.example', 'access-control-request-method': 'POST' },
    });
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect(response.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('mcp-session-id');
    for (const refused of [await fetch(server.endpoint), await post(server.endpoint, call('search'), as('all'))]) {
      expect(refused.headers.get('access-control-allow-origin')).toBe('*');
      expect(refused.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
    }
  });

  it.each([false, true])(
    'an unmodified client lists and calls its tools, and gets the reason of a refusal (responses as JSON: %s)',
    async (json) => {
      const own = await start(adapter, json);
      try {
        const client = await clientOf(own.endpoint, 'all');
        expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(['search', 'who']);
        asked.length = 0;
        expect(await client.callTool({ name: 'search', arguments: { query: 'ångström' } })).toMatchObject({
          content: [{ text: 'found ångström' }],
        });
        expect(asked).toEqual([
          expect.objectContaining({
            agentId: 'agt_1',
            action: 'execute',
            resource: 'mcp:notes:search',
            arguments: { query: 'ångström' },
          }),
        ]);
        expect(await client.callTool({ name: 'who', arguments: {} })).toMatchObject({
          content: [{ text: '{"agentId":"agt_1","userId":"usr_1"}' }],
        });
        expect(await client.callTool({ name: 'delete', arguments: { id: '1' } })).toMatchObject({
          isError: true,
          content: [{ type: 'text', text: expect.stringMatching(/"delete" is not available.*NO_PERMISSION/) }],
          _meta: { reason: 'NO_PERMISSION', auditId: 'aud_1' },
        });
        await client.close();
      } finally {
        await own.close();
      }
    },
  );

  it('a batch is refused as a whole, each call with its id', async () => {
    const response = await post(server.endpoint, [call('search', 1), call('delete', 2)], as('all'));
    expect(await response.json()).toEqual(
      [1, 2].map((id) => ({
        jsonrpc: '2.0',
        id,
        result: expect.objectContaining({
          isError: true,
          _meta: { reason: 'NO_PERMISSION', auditId: 'aud_1' },
        }),
      })),
    );
  });

  it('a long body that arrives in pieces reaches the handler complete', async () => {
    const query = 'ü'.repeat(40_000);
    const response = await post(server.endpoint, call('search', 1, { query }), as('all'));
    expect((await response.text()).includes(query)).toBe(true);
  });

  // A request that the server parses differently than the guard would bypass every decision.
  it.each<[string, string | Uint8Array, Record<string, string>]>([
    ['a text/plain body', JSON.stringify(call('delete')), { 'content-type': 'text/plain' }],
    ['a body without a type', JSON.stringify(call('delete')), { 'content-type': 'application/octet-stream' }],
    [
      'the method twice',
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"delete",' +
        '"arguments":{"id":"x"}}}',
      {},
    ],
    [
      'the name twice',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","name":"delete",' +
        '"arguments":{"id":"x"}}}',
      {},
    ],
    [
      'an escaped method',
      '{"jsonrpc":"2.0","id":1,"method":"tools\\u002fcall","params":{"name":"del\\u0065te","arguments":{"id":"x"}}}',
      {},
    ],
    ['a byte order mark', `\ufeff${JSON.stringify(call('delete'))}`, {}],
    [
      'UTF-16',
      Buffer.from(JSON.stringify(call('delete')), 'utf16le'),
      { 'content-type': 'application/json; charset=utf-16le' },
    ],
    [
      'a notification',
      JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'delete', arguments: { id: 'x' } } }),
      {},
    ],
    ['a batch', JSON.stringify([{ jsonrpc: '2.0', id: 7, method: 'ping' }, call('delete')]), {}],
    ['an encoded body', JSON.stringify(call('delete')), { 'content-encoding': 'gzip' }],
  ])('%s does not bypass the decision', async (_what, body, headers) => {
    const response = await post(server.endpoint, body, { ...as('all'), ...headers });
    expect(await response.text()).not.toContain('deleted');
  });

  it.each([
    '/mcp',
    '/MCP',
    '/mcp/',
    '/%6dcp',
    '/%6Dc%70',
    '/%256dcp',
    '//mcp',
    '/./mcp',
    '/x/../mcp',
    '/mcp/../mcp',
    '/mcp/x/..',
    '/mcp;a=b',
    '/mcp?a',
    '/mcp#a',
    '/mcp/.',
    '\\mcp',
    '/mcp%2f',
    '/mcp%3f',
  ])('the path %s does not bypass the guard', async (path) => {
    const body = JSON.stringify(call('search'));
    const answer = await raw(
      server.url,
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: ` +
        `${HEADERS.accept}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
    expect(answer).not.toContain('found');
    expect(answer).toMatch(/^HTTP\/1\.1 (401|404|400)/);
  });

  it.each(['GET', 'OPTIONS', 'PUT'])('a tool call in the body of %s does not bypass the decision', async (method) => {
    const body = JSON.stringify(call('delete'));
    const answer = await raw(
      server.url,
      `${method} /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer all\r\ncontent-type: ` +
        `application/json\r\naccept: ${HEADERS.accept}\r\ncontent-length: ${body.length}\r\nconnection: ` +
        `close\r\n\r\n${body}`,
    );
    expect(answer).not.toContain('deleted');
  });

  it('400 for invalid or too deeply nested JSON, 413 for a body that is too large', async () => {
    const small = await adapter((endpoint) => ({
      legate: legate(endpoint),
      server: { name: 'notes', endpoint },
      maxBodyBytes: 1000,
    }));
    try {
      expect((await post(server.endpoint, '{', as('all'))).status).toBe(400);
      const deep = `${'['.repeat(40_000)}${']'.repeat(40_000)}`;
      const nested = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"x":${deep}}}}`;
      expect((await post(server.endpoint, nested, as('all'))).status).toBe(400);
      const large = await post(small.endpoint, call('search', 1, { query: 'x'.repeat(20_000) }), as('all'));
      // The body parser before the guard has its own limit.
      if (!_name.includes('behind its') && _name !== 'Fastify') expect(large.status).toBe(413);
      else expect(large.status).toBe(200);
    } finally {
      await small.close();
    }
  });

  it('without a server, accepts tokens for the resource of the service', async () => {
    const own = await adapter(() => ({ legate: legate(ISSUER) }));
    try {
      const response = await post(own.endpoint, call('delete'));
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([
        401,
        `Bearer scope="mcp:read mcp:execute", issuer="${ISSUER}", resource="${ISSUER}", ` +
          `resource_metadata="${ISSUER}/.well-known/oauth-protected-resource"`,
      ]);
      expect(await (await post(own.endpoint, call('delete'), as('all'))).text()).toContain('deleted');
    } finally {
      await own.close();
    }
  });

  it('guards the path at which requests arrive, even if a proxy changes it', async () => {
    const endpoint = 'https://mcp.example.com/public/notes';
    const behind = await adapter(() => ({
      legate: legate(endpoint),
      server: { name: 'notes', endpoint },
      path: '/mcp',
    }));
    try {
      expect((await post(behind.endpoint, call('search'))).status).toBe(401);
      expect((await post(behind.endpoint, call('search'), as('all'))).status).toBe(200);
      for (const path of ['/mcp', '/public/notes'])
        expect(await (await fetch(`${behind.url}/.well-known/oauth-protected-resource${path}`)).json()).toMatchObject({
          resource: endpoint,
        });
    } finally {
      await behind.close();
    }
  });

  it('does not affect other paths', async () => {
    if (_name === 'a web handler') return;
    const response = await fetch(`${server.url}/open`);
    expect([response.status, await response.text()]).toEqual([200, 'open']);
  });

  it('accepts requests without a token if none is required, but still refuses invalid tokens', async () => {
    const open = await adapter((endpoint) => ({
      legate: legate(endpoint),
      server: { name: 'notes', endpoint, authRequired: false },
    }));
    try {
      const response = await post(open.endpoint, call('who', 1, {}));
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, null]);
      expect(await response.text()).toContain('null');
      expect((await post(open.endpoint, call('who', 1, {}), as('unknown'))).status).toBe(401);
    } finally {
      await open.close();
    }
  });
});

/**
 * Sends a request exactly as written, and returns what arrives until the connection ends or is silent (an open stream).
 */
function raw(url: string, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(request));
    let answer = '';
    socket.setTimeout(10_000, () => socket.destroy());
    socket.on('data', (chunk) => {
      answer += chunk.toString();
      // A stream stays open after its first bytes.
      socket.setTimeout(200);
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}
