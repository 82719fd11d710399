import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { RawClient } from '../../../../test/support/raw-client.ts';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../../test/support/service.ts';
import { Stream } from '../../../../test/support/stream.ts';
import type { Id } from '../../../kernel/ids.ts';
import { PermittedLists } from './permitted-lists.ts';

/** A server over stdio that announces no changes. */
const SERVER = `
const methods = {
  initialize: () => ({ protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' },
    capabilities: { tools: {}, prompts: {} } }),
  'tools/list': () => ({ tools: ['a', 'b'].map((name) => ({ name, inputSchema: { type: 'object' } })) }),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const result = id === undefined ? undefined : methods[method]?.();
  if (result) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});`;

const TOOLS = 'notifications/tools/list_changed';
const PROMPTS = 'notifications/prompts/list_changed';
const may = (resource: string) => [{ resource, actions: ['execute'] }];

let t: TestService;
let other: TestService;
let owner: TestUser;

beforeAll(async () => {
  const script = join(mkdtempSync(join(tmpdir(), 'legate-lists-')), 'server.cjs');
  writeFileSync(script, SERVER);
  const config = { gateway: { servers: { notes: { command: process.execPath, args: [script] } } } };
  t = await createTestService({ lasting: true, config });
  other = await createTestService({ lasting: true, config, sameDatabaseAs: t });
  owner = await t.user();
});

/** The stream of a session of 2025-11-25. */
const listenInSession = async (as: TestAgent, at = t): Promise<Stream> =>
  (await new RawClient(at, as, 'notes').open()).listen();

/** The stream of a `subscriptions/listen` of 2026-07-28, after its acknowledgement. */
const listen = async (as: TestAgent, notifications: Json): Promise<Stream> => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const method = 'subscriptions/listen';
  const request = new Request(`${t.legate.platform.baseUrl}/gateway/notes/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${as.token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { notifications, _meta } }),
  });
  const stream = new Stream(await t.legate.fetch(request, { remoteAddress: '127.0.0.1' }));
  await stream.events(1);
  expect(stream.seen[0]?.data.params.notifications).toEqual(notifications);
  return stream;
};
const heard = (stream: Stream): string[] => stream.seen.map(({ data }) => data.method);
const change = (id: string, permissions: Json): Promise<unknown> =>
  t.call('PATCH', `/agents/${id}`, { as: owner, body: { permissions } });

it('clients of an agent are notified of changed permissions, in each revision and on each instance', async () => {
  const agent = await t.agent(owner, { permissions: may('mcp:notes:*') });
  const bystander = await t.agent(owner, { permissions: may('mcp:notes:*') });
  const client = await new RawClient(t, agent, 'notes').open();
  expect(client.capabilities).toEqual({ tools: { listChanged: true }, prompts: { listChanged: true } });
  const streams = [await client.listen(), await listenInSession(agent, other)];
  const modern = await listen(agent, { toolsListChanged: true });
  const unconcerned = await listenInSession(bystander);

  await change(agent.id, may('mcp:notes:a'));
  for (const stream of streams) {
    await stream.events(2);
    expect(heard(stream)).toEqual([TOOLS, PROMPTS]);
  }
  await modern.events(2);
  expect(heard(modern).slice(1)).toEqual([TOOLS]);

  // A new name leaves the lists as they are.
  await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { name: 'renamed' } });
  await change(bystander.id, []);
  await unconcerned.events(2);
  expect(heard(unconcerned)).toEqual([TOOLS, PROMPTS]);
  expect([...streams, modern].map(({ seen }) => seen.length)).toEqual([2, 2, 2]);
  for (const stream of [...streams, modern, unconcerned]) await stream.close();
});

it('clients are notified of a delegation, its end, and changes of the agents above', async () => {
  const root = await t.agent(owner, { permissions: may('mcp:notes:*') });
  const middle = await t.agent(owner, { permissions: [] });
  const agent = await t.agent(owner, { permissions: [] });
  const delegate = async (from: TestAgent, to: TestAgent): Promise<string> => {
    const body = { fromAgent: from.id, toAgent: to.id, permissions: may('mcp:notes:*') };
    return (await t.call('POST', '/delegations', { as: owner, body })).body.id;
  };
  await delegate(root, middle);
  const stream = await listen(agent, { toolsListChanged: true, promptsListChanged: true });
  const last = await delegate(middle, agent);
  await stream.events(3);
  await change(root.id, may('mcp:notes:a'));
  await stream.events(5);
  await t.call('DELETE', `/delegations/${last}`, { as: owner });
  await stream.events(7);
  expect(heard(stream).slice(1)).toEqual([TOOLS, PROMPTS, TOOLS, PROMPTS, TOOLS, PROMPTS]);
  await stream.close();
});

it('changed permissions of several agents are not missed if the database fails while they are read', async () => {
  /** Answers of the database that still arrive. */
  let left = Number.POSITIVE_INFINITY;
  const { clock, database, ledger } = t.legate.platform;
  const read = database.read.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      if (left-- <= 0) throw new Error('the database is out of reach');
      return result;
    },
  });
  const lists = new PermittedLists({ clock, ledger, database: { ...database, read } as typeof database });
  const agents = await Promise.all([1, 2].map(() => t.agent(owner, { permissions: may('mcp:notes:*') })));
  const ids = agents.map(({ id }) => id as Id<'agent'>);
  for (const id of ids) await lists.opened(id);
  for (const id of ids) await change(id, may('mcp:notes:a'));
  let taken: unknown;
  for (let arriving = 0; taken === undefined && arriving < 50; arriving++) {
    left = arriving;
    taken = await lists.takeChanged(new Set(ids)).catch(() => undefined);
  }
  expect(taken).toEqual(ids);
});
