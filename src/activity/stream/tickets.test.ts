import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { type Stream, streamsOfTests } from '../../../test/support/stream.ts';
import { newSecret } from '../../kernel/secrets.ts';

let t: TestService;
let owner: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true, config: { events: { heartbeatIntervalMs: 100 } } });
  owner = await t.user();
});

const openOn = streamsOfTests();
const open = (o: Parameters<typeof openOn>[1] = {}, on = t): Promise<Stream> => openOn(on, o);
const decide = (agent: { token: string }, resource = 'x:y', on = t) =>
  on.authorize(agent, { action: 'read', resource });

describe('POST /events/ticket', () => {
  it('200: valid for one stream, for a minute, and no longer than its credential', async () => {
    const agent = await t.agent(owner);
    const ask = async (): Promise<Json> => (await t.call('POST', '/events/ticket', { as: agent })).body;
    const { ticket, expiresAt } = await ask();
    expect(Date.parse(expiresAt) - t.clock.now()).toBe(60_000);
    const many = await Promise.all(Array.from({ length: 10 }, () => open({ query: { ticket } })));
    await decide(agent);
    await Promise.all(many.map((s) => s.until(() => s.ended || s.seen.length > 0)));
    expect(many.filter((s) => s.seen[0]?.event === 'audit').length).toBe(1);
    const late = await ask();
    t.clock.advance(60_000);
    expect((await open({ query: { ticket: late.ticket } })).seen[0]?.data.code).toBe('UNAUTHORIZED');
    const fresh = await ask();
    const stream = await open({ query: { ticket: fresh.ticket } });
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    await stream.end();
    const rows = await t.legate.platform.database.read.selectFrom('stream_tickets').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(agent.token);
  });

  it('200: for a person whom the application signed in, with what that person may see, for an hour', async () => {
    const one = await createTestService({
      authenticate: (request) => {
        const userId = request.headers.get('x-user');
        return userId ? { userId, role: userId === 'root' ? 'admin' : 'user' } : null;
      },
    });
    const by = (name: string) => ({ headers: { 'x-user': name } });
    const streams: Record<string, Stream> = {};
    for (const name of ['ada', 'bob', 'root']) {
      const { ticket } = (await one.call('POST', '/events/ticket', by(name))).body;
      streams[name] = await open({ query: { ticket } }, one);
    }
    const make = async (name: string): Promise<string> =>
      (await one.call('POST', '/agents', { ...by(name), body: { ownerId: name, name: 'x', type: 'service' } })).body.id;
    const made = [await make('ada'), await make('bob')];
    // The service emits an event for each person when it sees them for the first time.
    await streams['root']?.events(4);
    const shown = (name: string) =>
      streams[name]?.seen.filter((s) => s.event === 'agent.created').map((s) => s.data.agentId);
    expect([shown('ada'), shown('bob'), shown('root')]).toEqual([[made[0]], [made[1]], made]);
    one.clock.advance(3_600_000);
    await one.call('DELETE', `/agents/${made[0]}`, by('ada'));
    for (const stream of Object.values(streams)) {
      await stream.end();
      expect(stream.seen.at(-1)).toMatchObject({ event: 'error', data: { code: 'UNAUTHORIZED' } });
    }
  });
});

describe('a stream of a person whom the application signed in', () => {
  it('asks the application again after a change, and lasts an hour', async () => {
    let role: 'admin' | 'user' | undefined = 'admin';
    const one = await createTestService({
      authenticate: (request) => (role && request.headers.has('x-signed-in') ? { userId: 'root', role } : null),
    });
    const listen = () => open({ headers: { 'x-signed-in': '1' } }, one);
    const [ada, bob] = [await one.user(), await one.user()];
    const doubt = async (): Promise<void> =>
      void (await one.call('DELETE', `/agents/${(await one.agent(bob)).id}`, { as: bob }));
    const stream = await listen();
    const first = await one.agent(ada);
    expect((await stream.events(1)).map((s) => s.data.agentId)).toEqual([first.id]);
    role = 'user';
    await doubt();
    const own = (
      await one.call('POST', '/agents', {
        headers: { 'x-signed-in': '1' },
        body: { ownerId: 'root', name: 'x', type: 'service' },
      })
    ).body;
    await one.agent(ada);
    await stream.until(() => stream.seen.some((s) => s.data.agentId === own.id));
    expect(stream.seen.filter((s) => s.data.userId === ada.id)).toHaveLength(1);
    role = undefined;
    await doubt();
    await stream.end();
    expect(stream.seen.at(-1)).toMatchObject({ event: 'error', data: { code: 'UNAUTHORIZED' } });
    role = 'user';
    const last = await listen();
    one.clock.advance(3_600_000);
    await doubt();
    await last.end();
    expect(last.seen.at(-1)).toMatchObject({ event: 'error', data: { code: 'UNAUTHORIZED' } });
  });
});

describe('GET /api/legate/events/stream?ticket=', () => {
  it('opens no write transaction for a text that is not a ticket', async () => {
    const one = await createTestService();
    const { ledger } = one.legate.platform;
    const change = ledger.change.bind(ledger);
    let changes = 0;
    ledger.change = ((...args: Parameters<typeof change>) => {
      changes++;
      return change(...args);
    }) as typeof ledger.change;
    for (const ticket of ['x', `lge_${'a'.repeat(49)}`, newSecret('agentToken')])
      expect((await open({ query: { ticket } }, one)).seen[0]?.data.code).toBe('UNAUTHORIZED');
    expect(changes).toBe(0);
    expect((await open({ query: { ticket: newSecret('streamTicket') } }, one)).seen[0]?.data.code).toBe('UNAUTHORIZED');
    expect(changes).toBe(1);
  });
});
