import { describe, expect, it } from 'vitest';
import { guarded, modern, rpc } from '../../../test/support/guarded.ts';
import type { Json } from '../../../test/support/service.ts';

const PERMISSIONS = [
  { resource: 'mcp:notes:search', actions: ['execute'] },
  { resource: 'mcp:notes:@resources', actions: ['read'], constraints: { allowedArgPatterns: ['note:/mine/*'] } },
  { resource: 'mcp:notes:@prompts:daily', actions: ['read'] },
];
const ok = (message: Json) => ({ body: { jsonrpc: '2.0', id: message.id, result: { done: message.method } } });

const MINE = 'note:/mine/1';
const YOURS = 'note:/yours/1';

describe.each(['web', 'express'] as const)('a request to read, by %s', (face) => {
  it.each<[string, Json, Json, string]>([
    ['resources/read', { uri: MINE }, { uri: YOURS }, 'ARGUMENTS_NOT_ALLOWED'],
    ['resources/subscribe', { uri: MINE }, { uri: YOURS }, 'ARGUMENTS_NOT_ALLOWED'],
    ['prompts/get', { name: 'daily' }, { name: 'secret' }, 'NO_PERMISSION'],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'daily' } },
      { ref: { type: 'ref/prompt', name: 'secret' } },
      'NO_PERMISSION',
    ],
    [
      'completion/complete',
      { ref: { type: 'ref/resource', uri: MINE } },
      { ref: { type: 'ref/resource', uri: YOURS } },
      'ARGUMENTS_NOT_ALLOWED',
    ],
    [
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: [MINE] } },
      { notifications: { resourceSubscriptions: [MINE, YOURS] } },
      'ARGUMENTS_NOT_ALLOWED',
    ],
  ])('%s is decided and recorded before it is forwarded', async (method, good, bad, reason) => {
    const { t, owner, agents, reached, send } = await guarded(face, PERMISSIONS, ok);
    expect(await (await send(rpc(method, good))).json()).toMatchObject({ result: { done: method } });
    const refused = await send(rpc(method, bad));
    expect([refused.status, await refused.json()]).toEqual([
      200,
      {
        jsonrpc: '2.0',
        id: 1,
        error: { code: 1403, message: expect.any(String), data: { reason, auditId: expect.stringMatching(/^aud_/) } },
      },
    ]);
    expect(reached).toHaveLength(1);
    const entries = (await t.call('GET', `/audit?agentId=${agents.mine.id}`, { as: owner })).body as Json[];
    expect(entries[0]).toMatchObject({ action: 'read', result: 'denied', reason });
    expect(entries[0].resource).toMatch(/^mcp:notes:@(resources|prompts:secret)$/);
  });

  it('[MCP 2025-11-25 transports] a refused notification gets an HTTP error without an id', async () => {
    const { t, owner, agents, reached, send } = await guarded(face, PERMISSIONS, ok);
    const { id: _, ...note } = rpc('tools/call', { name: 'delete', arguments: {} });
    const answers = [await send(note), await send([note, note])];
    for (const refused of answers)
      expect([refused.status, await refused.json()]).toEqual([
        403,
        {
          jsonrpc: '2.0',
          error: {
            code: 1403,
            message: expect.stringContaining('NO_PERMISSION'),
            data: { reason: 'NO_PERMISSION', auditId: expect.stringMatching(/^aud_/) },
          },
        },
      ]);
    // In a batch with a request, only the request is answered.
    const mixed = await send([note, rpc('ping', {})]);
    expect([mixed.status, (await mixed.json()).map((one: Json) => one['id'])]).toEqual([200, [1]]);
    expect(reached).toEqual([]);
    expect((await t.call('GET', `/audit?agentId=${agents.mine.id}`, { as: owner })).body).toHaveLength(3);
  });

  it('of a batch that is refused, no call is decided except the refused one', async () => {
    const { t, owner, agents, reached, send } = await guarded(
      face,
      [
        { resource: 'mcp:notes:search', actions: ['execute'], constraints: { maxCallsPerHour: 2 } },
        { resource: 'mcp:notes:delete', actions: ['execute'], constraints: { requireApproval: true } },
      ],
      ok,
    );
    const call = (name: string, id: number) => rpc('tools/call', { name, arguments: {} }, id);
    const entries = async (): Promise<Json[]> =>
      (await t.call('GET', `/audit?agentId=${agents.mine.id}&order=asc`, { as: owner })).body.map(
        ({ resource, result }: Json) => [resource, result],
      );
    await send([call('search', 1), call('delete', 2), call('missing', 3)]);
    await send([call('search', 1), call('x'.repeat(20_000), 2)]);
    expect(await entries()).toEqual([['mcp:notes:missing', 'denied']]);
    const [, waiting] = (await (await send([call('search', 1), call('delete', 2)])).json()) as Json[];
    expect(waiting.result._meta.reason).toBe('APPROVAL_REQUIRED');
    // An approval is not used up by a batch that is refused for another call.
    const { approvalId } = waiting.result._meta;
    expect((await t.call('POST', `/approvals/${approvalId}/approve`, { as: owner })).status).toBe(200);
    await send([call('delete', 1), call('missing', 2)]);
    expect(reached).toEqual([]);
    // Neither the limit nor the approval was touched.
    await send([call('search', 1), call('delete', 2), call('search', 3)]);
    expect(reached).toHaveLength(1);
    const allowed = (await entries()).filter(([, result]) => result === 'allowed').map(([resource]) => resource);
    expect(allowed.filter((resource) => resource.startsWith('mcp:'))).toHaveLength(3);
  });

  it('is not forwarded when it cannot be recorded', async () => {
    const { t, reached, send } = await guarded(face, PERMISSIONS, ok);
    await t.legate.close();
    expect((await send(rpc('resources/read', { uri: MINE }))).status).toBeGreaterThanOrEqual(500);
    expect(reached).toEqual([]);
  });

  const lists: Json = {
    'tools/list': { tools: [{ name: 'search' }, { name: 'delete' }] },
    'prompts/list': { prompts: [{ name: 'daily' }, { name: 'secret' }] },
    'resources/list': { resources: [{ uri: MINE }, { uri: YOURS }] },
    'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'note:/{who}/{id}' }] },
  };
  it.each([
    ['tools/list', '{"tools":[{"name":"search"}],"cacheScope":"private"}'],
    ['prompts/list', '{"prompts":[{"name":"daily"}],"cacheScope":"private"}'],
    ['resources/list', `{"resources":[{"uri":"${MINE}"}],"cacheScope":"private"}`],
    ['resources/templates/list', '{"resourceTemplates":[{"uriTemplate":"note:/{who}/{id}"}],"cacheScope":"private"}'],
  ])('%s is filtered, and private in 2026-07-28', async (method, want) => {
    const { send } = await guarded(face, PERMISSIONS, (message) => ({
      body: {
        jsonrpc: '2.0',
        id: 1,
        result: { ...lists[message.method], ...(message.params._meta ? { cacheScope: 'public' } : {}) },
      },
    }));
    const { result } = (await (await send(modern(method))).json()) as Json;
    expect(JSON.stringify(result)).toBe(want);
    expect((await (await send(rpc(method))).json()).result).not.toHaveProperty('cacheScope');
  });

  it('is refused to an agent that may only execute, unless readAction is execute', async () => {
    const all = [{ resource: 'mcp:notes:*', actions: ['execute'] }];
    const strict = await guarded(face, all, ok);
    expect(await (await strict.send(rpc('prompts/get', { name: 'daily' }))).json()).toMatchObject({
      error: { data: { reason: 'NO_PERMISSION' } },
    });
    const lenient = await guarded(face, all, ok, { readAction: 'execute' });
    expect(await (await lenient.send(rpc('prompts/get', { name: 'daily' }))).json()).toMatchObject({
      result: { done: 'prompts/get' },
    });
  });
});

describe('a task', () => {
  const CLIENT = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  it.each([
    ['as JSON', 'application/json', (text: string) => text],
    ['as an event', 'text/event-stream', (text: string) => `data: ${text}\n\n`],
  ])(
    'belongs to the caller of the call that created it, and ends with its permission (%s)',
    async (_what, type, form) => {
      const { t, owner, agents, reached, send } = await guarded('web', PERMISSIONS, (message) => ({
        body:
          message.method === 'tools/call'
            ? form(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { resultType: 'task', taskId: 'task-1' } }))
            : ok(message).body,
        headers: message.method === 'tools/call' ? { 'content-type': type } : {},
      }));
      await (await send(modern('tools/call', { name: 'search', arguments: {} }, CLIENT))).text();
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel', 'tasks/result']) {
        const ask = modern(method, { taskId: 'task-1' });
        expect(await (await send(ask)).json(), method).toMatchObject({ result: { done: method } });
        const others = await (await send(ask, { as: 'other' })).json();
        const unknown = await (await send(modern(method, { taskId: 'task-2' }))).json();
        expect(others).toEqual({
          jsonrpc: '2.0',
          id: 1,
          error: { code: -32602, message: expect.stringMatching(/^Task not found\. /) },
        });
        expect(unknown).toEqual(others);
      }
      await t.call('PATCH', `/agents/${agents.mine.id}`, { as: owner, body: { permissions: [] } });
      const before = reached.length;
      const { error } = (await (await send(modern('tasks/get', { taskId: 'task-1' }))).json()) as Json;
      expect(error).toMatchObject({ code: 1403, data: { reason: 'NO_PERMISSION' } });
      expect((await t.call('GET', `/audit/${error.data.auditId}`, { as: owner })).body).toMatchObject({
        resource: 'mcp:notes:search',
        result: 'denied',
      });
      expect(reached).toHaveLength(before);
    },
  );
});

it.each(['tools/call', 'prompts/get'])(
  '%s with arguments that no decision considers is not forwarded',
  async (method) => {
    const { t, owner, reached, send } = await guarded('web', PERMISSIONS, ok);
    const name = method === 'tools/call' ? 'search' : 'daily';
    for (const args of ['text', ['a', 'b'], 1, true]) {
      const response = await send(rpc(method, { name, arguments: args }));
      expect([response.status, await response.json()]).toMatchObject([200, { id: 1, error: { code: -32602 } }]);
    }
    expect(reached).toEqual([]);
    expect((await t.call('GET', '/audit', { as: owner })).body).toEqual([]);
    expect(await (await send(rpc(method, { name, arguments: null }))).json()).toMatchObject({ result: {} });
  },
);

describe('headers of 2026-07-28', () => {
  const ask = modern('tools/call', { name: 'search', arguments: {} });
  const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
  it.each<[Record<string, string>, number]>([
    [{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'search' }, 200],
    [{ 'mcp-name': base64('search'), 'mcp-param-anything': 'x' }, 200],
    [{}, 200],
    [{ 'mcp-protocol-version': '2025-11-25' }, 400],
    [{ 'mcp-method': 'tools/list' }, 400],
    [{ 'mcp-name': 'delete' }, 400],
    [{ 'mcp-name': base64('delete') }, 400],
    [{ 'mcp-name': '=?base64?!!?=' }, 400],
  ])('%j: %i', async (headers, status) => {
    const { reached, send } = await guarded('web', PERMISSIONS, ok);
    const response = await send(ask, { headers });
    expect(response.status).toBe(status);
    if (status === 200) return;
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32020 } });
    expect(reached).toEqual([]);
  });
});

describe('allowedOrigins', () => {
  it.each<[Record<string, string>, string, number]>([
    [{ origin: 'https://evil.example' }, 'mine', 403],
    [{ origin: 'https://evil.example' }, '', 403],
    [{ origin: 'null' }, 'mine', 403],
    [{ host: 'evil.example:3000' }, 'mine', 403],
    [{ origin: 'https://app.example' }, 'mine', 200],
    [{ origin: 'http://localhost:3000' }, 'mine', 200],
    [{}, 'mine', 200],
  ])('%j as %s: %i', async (headers, as, status) => {
    const { reached, send } = await guarded('web', PERMISSIONS, ok, { allowedOrigins: ['https://app.example'] });
    const ask = rpc('tools/call', { name: 'search', arguments: {} });
    expect((await send(ask, { as, headers })).status).toBe(status);
    expect(reached).toHaveLength(status === 200 ? 1 : 0);
  });
});
