import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { mcpHeaders, modern } from '../../../test/support/guarded.ts';
import { RawClient } from '../../../test/support/raw-client.ts';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { Stream } from '../../../test/support/stream.ts';
import { announcePermissions } from './gateway.ts';
import { gateway } from './index.ts';

const EXTENSION = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const RELATED = 'io.modelcontextprotocol/related-task';
const CREATED = '2026-01-01T00:00:00Z';

/** Servers number tasks per session, so the first task of every person has the same id. */
interface Session {
  readonly tasks: Json[];
  notify: (method: string, params: Json) => void;
}
let sessions: Session[] = [];
/** Methods and parameters that the servers received. */
let received: Json[] = [];
const answers = new Map<number, (result: Json) => void>();
/** A service that stops while a call is running. */
let stopping: TestService | undefined;
/** Awaited before a task is created. */
let creating: () => Promise<void> = async () => {};

const stateOf = ({ taskId, status, ...more }: Json, form: 'old' | 'new'): Json => ({
  ...{ taskId, status, createdAt: CREATED, lastUpdatedAt: CREATED },
  ...(form === 'old' ? { ttl: null } : { ttlMs: null, ...more }),
});

/** A server with tasks that supports only one revision. */
const serverOf =
  (form: 'old' | 'new') =>
  async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
    const at = Number(req.headers['mcp-session-id'] ?? 0);
    const session = sessions[at] as Session;
    const event = (message: Json) => res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
    if (req.method === 'GET') {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      session.notify = (method, params) => event({ method, params });
      return undefined;
    }
    let body = '';
    for await (const chunk of req) body += chunk;
    if (req.method !== 'POST') return res.writeHead(200).end();
    const { id, method, params, result: answer } = JSON.parse(body);
    if (method === undefined) answers.get(id)?.(answer);
    if (id === undefined || method === undefined) return res.writeHead(202).end();
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    const json = (reply: Json) => res.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, ...reply }));
    const about = { serverInfo: { name: form, version: '1' } };
    if (method === 'initialize') {
      if (form === 'new') return json({ error: { code: -32601, message: 'Method not found' } });
      sessions.push({ tasks: [], notify: () => {} });
      headers['mcp-session-id'] = String(sessions.length - 1);
      const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
      return json({ result: { protocolVersion: '2025-11-25', ...about, capabilities: { tools: {}, tasks } } });
    }
    if (method === 'server/discover')
      return json({
        result: { supportedVersions: ['2026-07-28'], ...about, capabilities: { tools: {}, ...EXTENSION } },
      });
    if (method === 'tools/list')
      return json({ result: { tools: ['slow', 'ask'].map((name) => ({ name, inputSchema: { type: 'object' } })) } });
    received.push({ method, ...params });
    if (method === 'tools/call') {
      const declared = params._meta?.['io.modelcontextprotocol/clientCapabilities']?.extensions;
      if (params.arguments?.of === 'stop') gateway.endStreams?.(stopping?.legate.platform as never);
      if (form === 'old' ? !params.task : !declared) return json({ result: { content: [], plain: true } });
      const task = { taskId: `task-${session.tasks.length + 1}`, status: 'working', ...params };
      session.tasks.push(task);
      await creating();
      const state = stateOf({ taskId: task.taskId, status: task.status }, form);
      return json({ result: form === 'old' ? { task: state } : { resultType: 'task', ...state } });
    }
    const task = session.tasks.find(({ taskId }) => taskId === params.taskId);
    if (!task) return json({ error: { code: -32602, message: 'Task not found' } });
    if (method === 'tasks/cancel') task.status = 'cancelled';
    if (method === 'tasks/update') Object.assign(task, { status: 'working', inputRequests: undefined });
    if (method !== 'tasks/result')
      return json({ result: form === 'new' && method !== 'tasks/get' ? {} : stateOf(task, form) });
    const related = { _meta: { [RELATED]: { taskId: task.taskId } } };
    if (task.name === 'ask') {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const answered = new Promise<Json>((resolve) => answers.set(1, resolve));
      event({ id: 1, method: 'elicitation/create', params: { message: '?', requestedSchema: {}, ...related } });
      task.said = await answered;
    }
    task.status = 'completed';
    const result = { content: [{ type: 'text', text: JSON.stringify(task.said ?? task.arguments) }], ...related };
    if (!res.headersSent) return json({ result });
    event({ id, result });
    return res.end();
  };

const servers: Server[] = [];
const listen = async (form: 'old' | 'new'): Promise<string> => {
  const server = createServer((req, res) => void serverOf(form)(req, res));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

let t: TestService;
const people: TestUser[] = [];
beforeAll(async () => {
  const old = { url: await listen('old') };
  sessions = [{ tasks: [], notify: () => {} }];
  t = await createTestService({
    lasting: true,
    config: {
      gateway: {
        servers: {
          own: old,
          shared: { ...old, legate: { isolation: 'shared' } },
          modern: { url: await listen('new'), legate: { isolation: 'shared' } },
        },
      },
    },
  });
  people.push(await t.user(), await t.user());
});
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

const newAgent = (owner = people[0] as TestUser): Promise<TestAgent> =>
  t.agent(owner, {
    permissions: ['own', 'shared', 'modern'].map((name) => ({ resource: `mcp:${name}:*`, actions: ['execute'] })),
  });
const outcomes = async (agent: TestAgent): Promise<Json[]> => {
  await t.legate.platform.background.idle();
  const { body } = await t.call('GET', `/events?types=gateway.call&agentId=${agent.id}`, { as: await t.admin() });
  return body.map(({ data }: Json) => data);
};
const open = (agent: TestAgent, server: string): Promise<RawClient> => new RawClient(t, agent, server).open();
const create = async (client: RawClient, args: Json = {}, tool = 'slow'): Promise<Json> =>
  (await (await client.call(tool, args, { task: {} })).next()).result.task;
const send = async (
  as: TestAgent,
  method: string,
  params: Json,
  declared: Json = EXTENSION,
  server = 'modern',
): Promise<Json> => {
  const body = modern(method, params, declared);
  const { status, body: answer } = await t.call('POST', `/gateway/${server}/mcp`, {
    ...{ as, body, headers: mcpHeaders(body) },
  });
  return { status, ...answer };
};
const NOT_FOUND = {
  error: { code: -32602, message: expect.stringMatching(/^Task not found\. .*may have been carried/) },
};

describe('tasks of 2025-11-25', () => {
  it.each(['own', 'shared'])(
    'belong to the caller who created them, with their own ids, on the server %s',
    async (server) => {
      const agents = [await newAgent(), await newAgent(people[1]), await newAgent()];
      const clients = await Promise.all(agents.map((agent) => open(agent, server)));
      const [a, b] = clients as [RawClient, RawClient];
      expect(a.capabilities.tasks).toEqual({ list: {}, cancel: {}, requests: { tools: { call: {} } } });
      const [ofA, ofB] = [await create(a, { of: 'a' }), await create(b, { of: 'b' })];
      expect(ofA).toEqual({ ...ofB, taskId: ofA.taskId });
      expect(new Set(['task-1', 'task-2', ofA.taskId, ofB.taskId]).size).toBe(4);
      // Each call has one decision, recorded before it; the outcome is not known yet.
      const [entry, ...others] = (await t.call('GET', `/audit?agentId=${agents[0]?.id}`, { as: await t.admin() })).body;
      expect([entry.resource, entry.result, others]).toEqual([`mcp:${server}:slow`, 'allowed', []]);
      expect(await outcomes(agents[0] as TestAgent)).toEqual([]);
      for (const [n, client] of clients.entries()) {
        const listed = (await client.request('tasks/list')).result.tasks.map(({ taskId }: Json) => taskId);
        expect(listed).toEqual([[ofA.taskId], [ofB.taskId], []][n]);
        for (const [owner, { taskId }] of [ofA, ofB].entries())
          if (owner !== n)
            for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
              expect(await client.request(method, { taskId })).toMatchObject(NOT_FOUND);
      }
      expect(await a.request('tasks/get', { taskId: 'task-1' })).toMatchObject(NOT_FOUND);
      expect((await a.request('tasks/get', { taskId: ofA.taskId })).result).toEqual(ofA);
      const { result } = await b.request('tasks/result', { taskId: ofB.taskId });
      expect(result).toEqual({
        content: [{ type: 'text', text: '{"of":"b"}' }],
        _meta: { [RELATED]: { taskId: ofB.taskId } },
      });
      expect((await a.request('tasks/cancel', { taskId: ofA.taskId })).result.status).toBe('cancelled');
      await a.request('tasks/get', { taskId: ofA.taskId });
      expect(await outcomes(agents[0] as TestAgent)).toMatchObject([
        { auditId: entry.id, tool: 'slow', outcome: 'cancelled' },
      ]);
      expect(await outcomes(agents[1] as TestAgent)).toMatchObject([
        { server, outcome: 'ok', resultBytes: expect.any(Number) },
      ]);
    },
  );

  it("a request during a task is sent to its client, and a change of status has the client's task id", async () => {
    const client = await open(await newAgent(await t.user()), 'own');
    const session = sessions.at(-1) as Session;
    const stream = await client.listen();
    const { taskId } = await create(client, {}, 'ask');
    const response = await client.post({ id: 1, method: 'tasks/result', params: { taskId } });
    const answer = new Stream(response);
    const [asked] = await answer.events(1);
    expect(asked?.data.params._meta).toEqual({ [RELATED]: { taskId } });
    await client.post({ id: asked?.data.id, result: { action: 'decline' } });
    const [, last] = await answer.events(2);
    expect(last?.data.result.content[0].text).toBe('{"action":"decline"}');
    session.notify('notifications/tasks/status', stateOf({ taskId: 'task-1', status: 'completed' }, 'old'));
    session.notify('notifications/tasks/status', stateOf({ taskId: 'task-9', status: 'completed' }, 'old'));
    session.notify('notifications/prompts/list_changed', {});
    const events = await stream.events(2);
    expect(events.map(({ data }) => [data.method, data.params.taskId])).toEqual([
      ['notifications/tasks/status', taskId],
      ['notifications/prompts/list_changed', undefined],
    ]);
    await stream.close();
  });

  it('that are never fetched are recorded when they or their connection end', async () => {
    const agent = await newAgent(await t.user());
    const client = await open(agent, 'own');
    const { tasks } = sessions.at(-1) as Session;
    for (const of of ['done', 'failed', 'running']) await create(client, { of });
    Object.assign(tasks[0] as Json, { status: 'completed' });
    Object.assign(tasks[1] as Json, { status: 'failed' });
    await gateway.upkeep?.(t.legate.platform);
    await gateway.upkeep?.(t.legate.platform);
    expect((await outcomes(agent)).map(({ outcome }) => outcome).sort()).toEqual(['ok', 'tool_error']);
    const { taskId } = (await client.request('tasks/list')).result.tasks[2];
    await t.call('POST', '/gateway/servers/own/restart', { as: await t.admin() });
    expect((await outcomes(agent)).map(({ outcome }) => outcome).sort()).toEqual(['ok', 'tool_error', 'unknown']);
    expect(await client.request('tasks/get', { taskId })).toMatchObject(NOT_FOUND);
  });

  it('no longer exist after a restart of the gateway, which reports this and records an unknown outcome', async () => {
    const { gateway: configured } = t.legate.platform.config;
    const servers = { own: { url: configured.servers['own']?.url as string } };
    const before = await createTestService({ sameDatabaseAs: t, lasting: true, config: { gateway: { servers } } });
    const agent = await newAgent(await t.user());
    const { taskId } = await create(await new RawClient(before, agent, 'own').open(), { of: 'restart' });
    await before.legate.close();
    const [outcome, ...others] = await outcomes(agent);
    expect([outcome, others]).toMatchObject([{ tool: 'slow', outcome: 'unknown' }, []]);
    const client = await open(agent, 'own');
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      expect(await client.request(method, { taskId })).toMatchObject(NOT_FOUND);
    expect((await client.request('tasks/list')).result.tasks).toEqual([]);
    // The gateway did not send the call again.
    expect(received.filter(({ arguments: args }) => args?.of === 'restart')).toHaveLength(1);
  });

  it('whose answer arrives while the gateway stops have an unknown outcome, because they were created', async () => {
    const { gateway: configured } = t.legate.platform.config;
    const servers = { own: { url: configured.servers['own']?.url as string } };
    const stopping = await createTestService({ sameDatabaseAs: t, lasting: true, config: { gateway: { servers } } });
    const agent = await newAgent(await t.user());
    const client = await new RawClient(stopping, agent, 'own').open();
    creating = async () => gateway.endStreams?.(stopping.legate.platform);
    onTestFinished(() => {
      creating = async () => {};
    });
    const { result } = await (await client.call('slow', {}, { task: {} })).next();
    expect(result).toMatchObject({ isError: true, _meta: { reason: 'OUTCOME_UNKNOWN' } });
    await stopping.legate.close();
    expect((await outcomes(agent)).map(({ outcome }) => outcome)).toEqual(['unknown']);
  });

  it('send no changes of status to a client whose call is no longer permitted', async () => {
    const user = await t.user();
    const agent = await newAgent(user);
    const client = await open(agent, 'own');
    const session = sessions.at(-1) as Session;
    const stream = await client.listen();
    await create(client);
    const body = { permissions: [{ resource: 'mcp:own:other', actions: ['execute'] }] };
    await t.call('PATCH', `/agents/${agent.id}`, { as: user, body });
    await announcePermissions(t.legate.platform);
    const statuses = (): Json[] => stream.seen.filter(({ data }) => data.method === 'notifications/tasks/status');
    session.notify('notifications/tasks/status', stateOf({ taskId: 'task-1', status: 'completed' }, 'old'));
    await expect.poll(() => outcomes(agent)).toHaveLength(1);
    session.notify('notifications/message', { level: 'info' });
    await stream.until(() => stream.seen.some(({ data }) => data.method === 'notifications/message'));
    expect(statuses()).toEqual([]);
    await stream.close();
  });

  it('are inaccessible once the permission or the agent has ended', async () => {
    const agent = await newAgent();
    const client = await open(agent, 'shared');
    const { taskId } = await create(client);
    await t.call('PATCH', `/agents/${agent.id}`, { as: people[0] as TestUser, body: { permissions: [] } });
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      const { reason, auditId } = (await client.request(method, { taskId })).error.data;
      expect(reason).toBe('NO_PERMISSION');
      const { body } = await t.call('GET', `/audit/${auditId}`, { as: people[0] as TestUser });
      expect([body.agentId, body.result]).toEqual([agent.id, 'denied']);
    }
    expect((await client.request('tasks/list')).result.tasks).toEqual([]);
    await t.call('DELETE', `/agents/${agent.id}`, { as: people[0] as TestUser });
    expect((await client.post({ id: 1, method: 'tasks/get', params: { taskId } })).status).toBe(401);
  });

  it('are listed in pages', async () => {
    const client = await open(await newAgent(), 'shared');
    const ids: string[] = [];
    for (let n = 0; n < 11; n++) ids.push((await create(client)).taskId);
    const { tasks, nextCursor } = (await client.request('tasks/list')).result;
    const second = (await client.request('tasks/list', { cursor: nextCursor })).result;
    expect([...tasks, ...second.tasks].map(({ taskId }: Json) => taskId)).toEqual(ids);
    expect(second.nextCursor).toBeUndefined();
    expect((await client.request('tasks/list', { cursor: 'task-1' })).error.code).toBe(-32602);
  });
});

describe('tasks of 2026-07-28', () => {
  it('belong to the caller; the client supplies input, and the outcome is that of the result', async () => {
    const [agent, other] = [await newAgent(), await newAgent(people[1])];
    const declared = { ...EXTENSION, elicitation: {} };
    const { result } = await send(agent, 'tools/call', { name: 'slow', arguments: { of: 'a' } }, declared);
    expect(result).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null });
    const { taskId } = result;
    const task = (sessions[0] as Session).tasks.at(-1) as Json;
    expect(taskId).not.toBe(task.taskId);
    const elicit = { method: 'elicitation/create', params: { message: '?', requestedSchema: {} } };
    const sample = { method: 'sampling/createMessage', params: {} };
    Object.assign(task, { status: 'input_required', inputRequests: { name: elicit, model: sample } });
    // The client receives only requests that it has declared and that the server may send.
    expect((await send(agent, 'tasks/get', { taskId }, declared)).result).toMatchObject({
      ...{ resultType: 'complete', taskId, status: 'input_required' },
      inputRequests: { name: elicit },
    });
    expect((await send(agent, 'tasks/get', { taskId }, declared)).result.inputRequests.model).toBeUndefined();
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect(await send(other, method, { taskId, inputResponses: {} })).toMatchObject(NOT_FOUND);
    const inputResponses = { name: { action: 'accept', content: {} } };
    expect((await send(agent, 'tasks/update', { taskId, inputResponses })).result.resultType).toBe('complete');
    // The gateway itself may have polled the task since.
    const updates = received.filter(({ method }) => method === 'tasks/update');
    expect(updates.at(-1)).toMatchObject({ taskId: task.taskId, inputResponses });
    Object.assign(task, { status: 'completed', result: { content: [], isError: true } });
    expect((await send(agent, 'tasks/get', { taskId })).result).toMatchObject({ taskId, result: { isError: true } });
    expect(await outcomes(agent)).toMatchObject([{ server: 'modern', tool: 'slow', outcome: 'tool_error' }]);
  });

  it('require a client that has declared them', async () => {
    const agent = await newAgent();
    const { taskId } = (await send(agent, 'tools/call', { name: 'slow' })).result;
    expect(await send(agent, 'tasks/get', { taskId }, {})).toMatchObject({ status: 400, error: { code: -32021 } });
    expect((await send(agent, 'tasks/cancel', { taskId })).result).toMatchObject({ resultType: 'complete' });
    for (const method of ['tasks/result', 'tasks/list'])
      expect((await send(agent, method, { taskId })).error.code).toBe(-32601);
  });
});

it('the answer to a call of 2026-07-28 remains its answer when the connection ends right after it', async () => {
  const { gateway: configured } = t.legate.platform.config;
  const servers = { own: { url: configured.servers['own']?.url as string } };
  stopping = await createTestService({ sameDatabaseAs: t, lasting: true, config: { gateway: { servers } } });
  const agent = await newAgent(await t.user());
  const body = modern('tools/call', { name: 'slow', arguments: { of: 'stop' } });
  const call = { as: agent, body, headers: mcpHeaders(body) };
  const { result } = (await stopping.call('POST', '/gateway/own/mcp', call)).body;
  expect(result).toMatchObject({ plain: true, resultType: 'complete' });
  expect(result._meta['io.modelcontextprotocol/serverInfo']).toEqual({ name: 'old', version: '1' });
  await stopping.legate.close();
});

it('do not exist between two revisions: they are not announced, and a call is an ordinary call', async () => {
  const agent = await newAgent();
  const client = await open(agent, 'modern');
  expect(client.capabilities).toEqual({ tools: { listChanged: true } });
  received = [];
  expect((await (await client.call('slow', {}, { task: {} })).next()).result).toMatchObject({ plain: true });
  const at = async (method: string, params: Json): Promise<Json> =>
    (await send(agent, method, params, EXTENSION, 'shared')).result;
  expect((await at('server/discover', {})).capabilities).toEqual({ tools: { listChanged: true } });
  expect(await at('tools/call', { name: 'slow', task: {} })).toMatchObject({ plain: true });
  // The gateway may still ask about tasks of other tests.
  const calls = received.filter(({ method }) => method === 'tools/call');
  expect(calls.map(({ task }) => task)).toEqual([undefined, undefined]);
  expect((await client.request('tasks/list')).error.code).toBe(-32601);
  expect((await send(agent, 'server/discover', {})).result.capabilities.extensions).toEqual(EXTENSION.extensions);
});
