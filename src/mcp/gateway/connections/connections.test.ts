import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Mailbox, openMailbox } from '../../../../test/support/mailbox.ts';
import { mailedToken, signedUp } from '../../../../test/support/people.ts';
import { RawClient } from '../../../../test/support/raw-client.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../../test/support/service.ts';
import { until, untilPasses } from '../../../../test/support/until.ts';
import { SYSTEM } from '../../../access/actor.ts';
import { watchedPeople } from './opened.ts';
import { resealConnections, unsealCredentials } from './store.ts';

/** A server over stdio whose tool returns its process id and the secrets that it received. */
const SERVER = `
const out = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize')
    return out({ id, result: { protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' }, capabilities:
      { tools: {} } } });
  if (method === 'tools/list')
    return out({ id, result: { tools: [{ name: 'who', inputSchema: { type: 'object' } }] } });
  const text = JSON.stringify({ pid: process.pid, token: process.env.TOKEN, args: process.argv.slice(1) });
  out({ id, result: { content: [{ type: 'text', text }] } });
});`;

const auth = { type: 'userSecret' as const, fields: ['token', 'team'] };
const command = { command: process.execPath, args: ['-e', SERVER] };

let t: TestService;
/** Another instance on the same database. */
let other: TestService;
let box: Mailbox;
let alice: TestUser;
let bob: TestUser;

beforeAll(async () => {
  box = await openMailbox();
  const config = {
    mail: { url: box.url },
    gateway: {
      servers: {
        issues: {
          command: process.execPath,
          args: ['-e', SERVER, '--', `\${user:team}`],
          env: { TOKEN: `of \${user:token}` },
          legate: { auth },
        },
        web: {
          url: `http://127.0.0.1:1/\${user:team}/mcp`,
          headers: { Authorization: `Bearer \${user:token}` },
          legate: { auth },
        },
        open: { ...command },
      },
    },
  };
  t = await createTestService({ lasting: true, config });
  other = await createTestService({ lasting: true, config, sameDatabaseAs: t });
  alice = await t.user();
  bob = await t.user();
});
afterAll(async () => {
  await other.legate.close();
  await t.legate.close();
});

const agentOf = (owner: TestUser) =>
  t.agent(owner, {
    permissions: ['issues', 'open'].map((name) => ({ resource: `mcp:${name}:*`, actions: ['execute'] })),
  });
const put = (as: TestUser, fields: Json, name = 'issues') =>
  t.call('PUT', `/gateway/connections/${name}`, { as, body: { fields } });
const rpc = async (as: { token: string }, method: string, params: object = {}, server = 'issues'): Promise<Json> =>
  (await t.call('POST', `/gateway/${server}/mcp`, { as, body: { jsonrpc: '2.0', id: 1, method, params } })).body;
const who = async (as: { token: string }, server?: string): Promise<Json> => {
  const { result } = await rpc(as, 'tools/call', { name: 'who', arguments: {} }, server);
  return result.isError ? result : JSON.parse(result.content[0].text);
};
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const ends = (pid: number) => expect.poll(() => isAlive(pid), { timeout: 5000 }).toBe(false);
const html = { accept: 'text/html', 'accept-language': 'en' };
const form = (as: TestUser | undefined, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  t.call('POST', '/gateway/issues/connect', {
    ...(as && { as }),
    headers: { ...html, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    raw: new URLSearchParams(fields).toString(),
  });

describe('a server that needs secrets of a person', () => {
  it('is listed with the names of its secrets, and is connected for one person only', async () => {
    const list = async (as: TestUser): Promise<Json> => (await t.call('GET', '/gateway/connections', { as })).body;
    const connectUrl = `${t.legate.baseUrl}/gateway/issues/connect`;
    const before = { name: 'issues', type: 'userSecret', fields: auth.fields, connected: false, connectedAt: null };
    expect(await list(alice)).toEqual([{ ...before, connectUrl }, expect.objectContaining({ name: 'web' })]);
    const done = await put(alice, { token: 'a-secret', team: 'x' });
    expect([done.status, done.body]).toEqual([
      200,
      { ...before, connectUrl, connected: true, connectedAt: expect.any(String) },
    ]);
    expect(JSON.stringify(await list(alice))).not.toContain('a-secret');
    expect((await list(bob))[0].connected).toBe(false);
    const rows = await t.legate.platform.database.read.selectFrom('gateway_connections').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain('a-secret');
    const { body: events } = await t.call('GET', '/events?types=gateway.connected', { as: alice });
    expect(events[0]).toMatchObject({ data: { server: 'issues', isNew: true } });
    expect(JSON.stringify(events)).not.toContain('a-secret');
  });

  it.each([
    ['issues', { token: 'x' }, 'fields.team: is missing'],
    ['issues', { token: 'x', team: 'y', more: 'z' }, 'fields.more: is not a field'],
    ['issues', { token: 'x'.repeat(8193), team: 'y' }, 'fields.token'],
    ['issues', { token: 'x', team: '--inspect' }, 'must not begin with "-"'],
    ['web', { token: 'a\r\nX-Admin: 1', team: 'y' }, 'printable ASCII'],
    ['web', { token: 'a', team: '..' }, 'must not be "."'],
  ])('refuses at %s: %j', async (name, fields, message) => {
    const { status, body } = await put(bob, fields, name);
    expect([status, body.error.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(body.error.message).toContain(message);
  });

  it('returns 404 where no secrets are needed, and 403 for agents', async () => {
    expect((await put(bob, {}, 'open')).status).toBe(404);
    expect((await put(bob, {}, 'nowhere')).status).toBe(404);
    expect((await t.call('DELETE', '/gateway/connections/issues', { as: bob })).status).toBe(404);
    expect((await t.call('DELETE', '/gateway/connections/%00', { as: bob })).status).toBe(404);
    expect((await t.call('GET', '/gateway/connections', { as: await agentOf(bob) })).status).toBe(403);
  });

  it('its clients can listen again after its person has disconnected, while another server is in use', async () => {
    const carol = await t.user();
    const agent = await agentOf(carol);
    await put(carol, { token: 'c', team: 'x' });
    for (const server of ['issues', 'open']) await who(agent, server);
    const client = await new RawClient(t, agent, 'issues').open();
    const earlier = await client.listen();
    expect((await t.call('DELETE', '/gateway/connections/issues', { as: carol })).status).toBe(204);
    await earlier.end();
    const looks = vi.spyOn(t.legate.platform.stateOf(watchedPeople), 'keepOnly');
    const stream = await client.listen();
    await until(() => looks.mock.calls.length >= 3);
    looks.mockRestore();
    expect(stream.ended).toBe(false);
    await put(carol, { token: 'c', team: 'x' });
    expect((await stream.events(1))[0]?.data.method).toBe('notifications/tools/list_changed');
    await stream.close();
  });

  it('refuses calls of a person without a connection with a link, and starts no process', async () => {
    const stranger = await t.user();
    const agent = await agentOf(stranger);
    const refused = await who(agent);
    expect(refused).toMatchObject({ isError: true, _meta: { reason: 'NOT_CONNECTED', auditId: expect.any(String) } });
    expect(refused.content[0].text).toContain(`${t.legate.baseUrl}/gateway/issues/connect`);
    const { error } = await rpc(agent, 'tools/list');
    expect([error.code, error.data.reason]).toEqual([1401, 'NOT_CONNECTED']);
    const opened = await rpc(agent, 'initialize', { protocolVersion: '2025-11-25', capabilities: {} });
    expect(opened.result.instructions).toContain('/gateway/issues/connect');
    await put(stranger, { token: 's', team: 'x' });
    expect((await who(agent)).token).toBe('of s');
  });

  it('receives the secrets of the person who calls, also in concurrent calls', async () => {
    await put(alice, { token: 'alice', team: 'a b' });
    await put(bob, { token: 'bob', team: 'b' });
    const agents = [await agentOf(alice), await agentOf(bob)];
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => who(agents[i % 2] as never)));
    expect(answers.map(({ token }) => token)).toEqual(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? 'of bob' : 'of alice')),
    );
    expect(answers[0].args.at(-1)).toBe('a b');
  });

  it('is announced to the clients of the person on each instance', async () => {
    const carol = await t.user();
    const listening = async (at: TestService, person: TestUser) =>
      (await new RawClient(at, await agentOf(person), 'issues').open()).listen();
    const [here, there] = [await listening(t, carol), await listening(other, carol)];
    const unconcerned = await listening(other, bob);
    let connected = 0;
    await untilPasses(async () => {
      await put(carol, { token: `token ${++connected}`, team: 'a' });
      expect(there.seen.map(({ data }) => data.method)).toContain('notifications/tools/list_changed');
    });
    await here.events(connected);
    expect(unconcerned.seen).toEqual([]);
    for (const stream of [here, there, unconcerned]) await stream.close();
  });

  it('is restarted only for changed secrets, and stopped when the connection is removed', async () => {
    await put(bob, { token: 'one', team: 'b' });
    const agent = await agentOf(bob);
    const { pid } = await who(agent);
    await put(bob, { token: 'one', team: 'b' });
    expect((await who(agent)).pid).toBe(pid);
    await put(bob, { token: 'two', team: 'b' });
    const second = await who(agent);
    expect(second.token).toBe('of two');
    await ends(pid);
    expect((await t.call('DELETE', '/gateway/connections/issues', { as: bob })).status).toBe(204);
    await ends(second.pid);
    expect((await who(agent))._meta.reason).toBe('NOT_CONNECTED');
  });

  it.each(['deleted', 'suspended'])('ends when the person is %s, like every process of that person', async (what) => {
    const admin = await t.admin();
    const person = await t.user();
    await put(person, { token: 'x', team: 'x' });
    const agent = await agentOf(person);
    const pids = [(await who(agent)).pid, (await who(agent, 'open')).pid];
    const path = `/users/${person.id}`;
    if (what === 'deleted') await t.call('DELETE', path, { as: admin });
    else await t.call('PATCH', path, { as: admin, body: { status: 'suspended' } });
    for (const pid of pids) await ends(pid);
    const rows = t.legate.platform.database.read.selectFrom('gateway_connections').selectAll();
    expect(await rows.where('user_id', '=', person.id).execute()).toHaveLength(what === 'deleted' ? 0 : 1);
    if (what === 'suspended') {
      await t.call('POST', '/gateway/open/mcp', { as: agent, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
      expect((await rpc(agent, 'tools/list', {}, 'open')).error.message).toContain('suspended');
    }
  });

  it('ends when somebody else first proves the address', async () => {
    await t.admin();
    const p = await signedUp({ t, box });
    const squatter = { ...p, token: p.session } as never as TestUser;
    await put(squatter, { token: 'of the squatter', team: 'x' });
    const { pid } = await who(await agentOf(squatter));
    const token = await mailedToken(p, '/magic-link');
    const proved = await t.call('POST', '/magic-link/verify', { body: { token } });
    expect(proved.status).toBe(200);
    const owner = { ...p, token: proved.body.token } as never as TestUser;
    expect((await t.call('GET', '/gateway/connections', { as: owner })).body[0].connected).toBe(false);
    await ends(pid);
    expect((await who(await agentOf(owner)))._meta.reason).toBe('NOT_CONNECTED');
    const { body: events } = await t.call('GET', '/events?types=gateway.disconnected', { as: owner });
    expect(events.map((event: Json) => event['data'])).toEqual([{ server: 'issues', reason: 'address-proved' }]);
  });

  it('is encrypted again with a new key', async () => {
    await put(alice, { token: 'kept', team: 'a' });
    const { platform } = t.legate;
    const secrets = platform.secrets();
    const added = { id: 'newest', key: randomBytes(32).toString('base64url'), createdAt: new Date().toISOString() };
    await resealConnections({ ...platform, secrets: () => ({ ...secrets, pepper: [added, ...secrets.pepper] }) });
    const rows = await platform.database.read.selectFrom('gateway_connections').selectAll().execute();
    expect(rows.every(({ sealed }) => sealed.startsWith('newest.'))).toBe(true);
    const mine = rows.find(({ user_id }) => user_id === alice.id) as (typeof rows)[number];
    const only = { secrets: () => ({ ...secrets, pepper: [added] }) };
    expect(unsealCredentials(only, mine)).toMatchObject({ fields: { token: 'kept' } });
    expect(() => unsealCredentials(only, { ...mine, user_id: bob.id })).toThrow();
    const both = [...secrets.pepper, added];
    await resealConnections({ ...platform, secrets: () => ({ ...secrets, pepper: both }) });
    expect((await t.call('GET', '/gateway/connections', { as: alice })).body[0].connected).toBe(true);
  });
});

it('connections whose key was lost do not keep others from being encrypted again with a new key', async () => {
  await put(alice, { token: 'kept', team: 'a' });
  const { platform } = t.legate;
  const mine = () =>
    platform.database.read.selectFrom('gateway_connections').selectAll().where('user_id', '=', alice.id);
  const row = await mine().where('server', '=', 'issues').executeTakeFirstOrThrow();
  const lost = Array.from({ length: 250 }, (_, n) => ({
    ...row,
    server: `gone-${n}`,
    key_id: 'lost',
    sealed: 'lost.x',
  }));
  await platform.ledger.change(SYSTEM, async ({ db }) => {
    await db.deleteFrom('gateway_connections').where('user_id', '=', alice.id).execute();
    for (const some of [lost as never[], [row]]) await db.insertInto('gateway_connections').values(some).execute();
  });
  const secrets = platform.secrets();
  const added = { id: 'later', key: randomBytes(32).toString('base64url'), createdAt: new Date().toISOString() };
  const rotated = { ...platform, secrets: () => ({ ...secrets, pepper: [added, ...secrets.pepper] }) };
  for (let upkeep = 0; upkeep < 4; upkeep++) await resealConnections(rotated);
  expect((await mine().where('server', '=', 'issues').executeTakeFirstOrThrow()).key_id).toBe('later');
  const both = [...secrets.pepper, added];
  for (let upkeep = 0; upkeep < 4; upkeep++)
    await resealConnections({ ...platform, secrets: () => ({ ...secrets, pepper: both }) });
  expect((await t.call('GET', '/gateway/connections', { as: alice })).body[0].connected).toBe(true);
});

describe('the connect page', () => {
  it('accepts the secrets, never shows them, and disconnects', async () => {
    const person = await t.user();
    const page = await t.call('GET', '/gateway/issues/connect', { as: person, headers: html });
    expect(page.status).toBe(200);
    expect(page.text).toContain('type="password"');
    expect(page.text).not.toContain('<script');
    const missing = await form(person, { action: 'connect', 'secret-token': 'x-1', 'secret-team': '' });
    expect([missing.status, missing.text.includes('x-1')]).toEqual([400, false]);
    const wrong = await form(person, { action: 'connect', 'secret-token': 'x-1', 'secret-team': '-x' });
    expect([wrong.status, wrong.text.includes('must not begin')]).toEqual([400, true]);
    const done = await form(person, { action: 'connect', 'secret-token': 'x-1', 'secret-team': 'y' });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/gateway/issues/connect?done=connected']);
    expect((await who(await agentOf(person))).token).toBe('of x-1');
    const list = await t.call('GET', '/account/servers', { as: person, headers: html });
    expect(list.text).toContain('Connected since');
    expect(list.text).not.toContain('x-1');
    expect((await form(person, { action: 'disconnect' })).status).toBe(303);
    expect((await form(person, { action: 'disconnect' })).status).toBe(303);
    const after = await t.call('GET', '/account/servers', { as: person, headers: html });
    expect(after.text).toContain('Not connected');
  });

  it('needs the signed-in person, and refuses forms of other sites and servers without secrets', async () => {
    const away = await t.call('GET', '/gateway/issues/connect', { headers: html });
    expect([away.status, away.headers.get('location')]).toEqual([303, expect.stringContaining('/account/sign-in')]);
    expect((await form(alice, { action: 'connect' }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await t.call('GET', '/gateway/open/connect', { as: alice, headers: html })).status).toBe(404);
  });
});

describe('the configuration of servers with secrets', () => {
  const start = (server: object) =>
    createTestService({ config: { gateway: { servers: { issues: { ...command, ...server } } as never } } });
  const web = { command: undefined, args: [], url: 'https://mcp.example.com/mcp' };
  it.each([
    [{ env: { A: `\${user:token}` } }, 'is not in legate.auth.fields'],
    [{ legate: { auth, isolation: 'shared' } }, 'belong to one person'],
    [{ legate: { auth: { type: 'userSecret', fields: [] } } }, 'fields'],
    [{ legate: { auth: { type: 'oauth' } } }, 'oauth needs url'],
    [{ ...web, legate: { auth: { type: 'oauth' }, isolation: 'shared' } }, 'belong to one person'],
    [{ ...web, legate: { auth: { type: 'oauth', clientSecret: 'x' } } }, 'needs clientId'],
    [{ legate: { auth: { type: 'userSecret', fields: ['a b'] } } }, 'fields'],
    [{ command: undefined, args: [], url: `https://\${user:token}.example/mcp`, legate: { auth } }, 'after the host'],
  ])('%j prevents the start', async (server, message) => {
    await expect(start(server)).rejects.toThrow(message);
  });

  it('reserves the names of other paths', async () => {
    const servers = { connections: { ...command } };
    await expect(createTestService({ config: { gateway: { servers } } })).rejects.toThrow('reserved');
  });
});
