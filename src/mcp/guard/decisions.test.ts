import { describe, expect, it } from 'vitest';
import { createTestService, type Json } from '../../../test/support/service.ts';
import { protectMcp } from './protect.ts';

const body = (method: string, params: unknown = {}) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

/**
 * The guard with a handler that records its calls and with the decisions of a real service. Tokens are not verified.
 */
async function scene(remote: boolean, names = ['search', 'delete', 'approve', 'limited']) {
  const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
  const t = await createTestService();
  const endpoint = 'http://localhost:3000/notes';
  const server = await t.legate.mcp.registerServer({ name: 'notes', endpoint, rateLimit: { rpm: 2 } });
  const owner = await t.user();
  const agent = await t.agent(owner, {
    permissions: [
      { resource: 'mcp:notes:search', actions: ['execute'], constraints: { allowedArgPatterns: ['ok/*'] } },
      { resource: 'mcp:notes:approve', actions: ['execute'], constraints: { requireApproval: true } },
      { resource: 'mcp:notes:limited', actions: ['execute'], constraints: { maxCallsPerHour: 0 } },
    ],
  });
  const validation = {
    valid: true as const,
    agentId: agent.id,
    userId: owner.id,
    scopes: ['mcp:execute'],
    expiresAt: new Date('2031-01-01'),
  };
  const handler = async (request: Request): Promise<Response> =>
    Response.json({
      jsonrpc: '2.0',
      id: 1,
      result: (await request.text()).includes('tools/list') ? { tools } : { called: true },
    });
  const guarded = remote
    ? protectMcp(handler, {
        issuer: 'http://localhost:3000',
        server,
        introspection: { token: 'x' },
        decisions: { url: 'http://localhost:3000', token: owner.token },
        fetch: async (input, init) => {
          const { pathname } = new URL(String(input));
          if (pathname.startsWith('/.well-known'))
            return Response.json({
              issuer: 'http://localhost:3000',
              introspection_endpoint: 'http://localhost:3000/introspect',
            });
          if (pathname === '/introspect')
            return Response.json({
              active: true,
              aud: endpoint,
              sub: agent.id,
              user_id: owner.id,
              scope: 'mcp:execute',
              exp: Date.now() / 1000 + 60,
            });
          return t.legate.fetch(new Request(String(input), init));
        },
      })
    : protectMcp(handler, {
        legate: {
          platform: t.legate.platform,
          authorize: t.legate.authorize,
          mcp: { validateToken: async () => validation },
        },
        server,
      });
  const send = async (message: string) =>
    (
      await guarded(
        new Request(endpoint, {
          method: 'POST',
          headers: { authorization: 'Bearer x', 'content-type': 'application/json', 'user-agent': 'test/1' },
          body: message,
        }),
      )
    ).json();
  const call = (name: string, args: unknown = {}) => send(body('tools/call', { name, arguments: args }));
  return { t, owner, agent, send, call };
}

describe.each([
  ['in the process of the service', false],
  ['from elsewhere', true],
])('decisions %s', (_where, remote) => {
  it('each call is decided and recorded, with its arguments', async () => {
    const { t, owner, agent, call } = await scene(remote);
    expect(await call('search', { path: 'ok/1' })).toMatchObject({ result: { called: true } });
    expect(await call('search', { path: 'no' })).toMatchObject({
      result: { isError: true, _meta: { reason: 'ARGUMENTS_NOT_ALLOWED' } },
    });
    expect(await call('delete')).toMatchObject({
      result: { isError: true, _meta: { reason: 'NO_PERMISSION', auditId: expect.stringMatching(/^aud_/) } },
    });
    const entries = (await t.call('GET', `/audit?agentId=${agent.id}`, { as: owner })).body;
    expect(
      entries.map((e: { resource: string; action: string; parameters: unknown; userAgent: string }) => [
        e.resource,
        e.action,
        e.parameters,
        e.userAgent,
      ]),
    ).toEqual([
      ['mcp:notes:delete', 'execute', {}, 'test/1'],
      ['mcp:notes:search', 'execute', { path: 'no' }, 'test/1'],
      ['mcp:notes:search', 'execute', { path: 'ok/1' }, 'test/1'],
    ]);
  });

  it('a call waits for an approval if the permission requires it, and the server limits calls per minute', async () => {
    const { t, owner, call } = await scene(remote);
    const refused = (await call('approve')) as {
      result: { content: { text: string }[]; _meta: { approvalId: string } };
    };
    const { approvalId } = refused.result._meta;
    expect(refused.result.content[0]?.text).toContain(`http://localhost:3000/account/approvals/${approvalId} `);
    expect((await t.call('POST', `/approvals/${approvalId}/approve`, { as: owner })).status).toBe(200);
    expect(await call('approve')).toMatchObject({ result: { called: true } });
    await call('search');
    expect(await call('search')).toMatchObject({
      result: { isError: true, _meta: { reason: 'RATE_LIMITED', retryAfter: 60 } },
    });
  });

  it('tools/list shows tools that may be called, now or after approval, and records nothing', async () => {
    const { t, owner, agent, send } = await scene(remote);
    const { result } = (await send(body('tools/list'))) as { result: { tools: { name: string }[] } };
    expect(result.tools.map((tool) => tool.name)).toEqual(['search', 'approve', 'limited']);
    expect((await t.call('GET', `/audit?agentId=${agent.id}`, { as: owner })).body).toEqual([]);
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    expect(await send(body('tools/list'))).toMatchObject({ result: { tools: [] } });
  });
});

describe.each([
  ['in the process of the service', false],
  ['from elsewhere', true],
])('a call about which no decision is possible, %s', (_where, remote) => {
  it('is refused with its id, as a result that the model sees: arguments or a name beyond every limit', async () => {
    const { t, owner, agent, call, send } = await scene(remote);
    for (const [name, args] of [
      ['search', { path: 'x'.repeat(70_000) }],
      ['search', { path: 'x'.repeat(400_000) }],
      ['x'.repeat(600), {}],
    ] as const) {
      const { id, result } = (await call(name, args)) as Json;
      expect([id, result.isError, result._meta]).toEqual([1, true, { reason: 'VALIDATION_FAILED' }]);
      expect(result.content[0].text).toMatch(/^.{10,300} too large\. Repeat it with smaller ones\.$/);
    }
    expect(await send(body('prompts/get', { name: 'x'.repeat(600) }))).toMatchObject({
      id: 1,
      error: { code: 1403, data: { reason: 'VALIDATION_FAILED' } },
    });
    expect((await t.call('GET', `/audit?agentId=${agent.id}`, { as: owner })).body).toEqual([]);
  });

  it('tools with too long a name are not listed; the others are', async () => {
    const { send } = await scene(remote, ['search', 'x'.repeat(600), 'approve']);
    const { result } = (await send(body('tools/list'))) as { result: { tools: { name: string }[] } };
    expect(result.tools.map((tool) => tool.name)).toEqual(['search', 'approve']);
  });
});
