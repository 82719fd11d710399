import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';
import { type Stream, streamsOfTests } from '../../../test/support/stream.ts';

let t: TestService;
let [admin, alice, bob]: TestUser[] = [];
let [first, second, theirs]: TestAgent[] = [];
let tenant: string;

beforeAll(async () => {
  t = await createTestService({ lasting: true });
  admin = await t.admin();
  [alice, bob] = [await t.user(), await t.user()];
  const made = await t.call('POST', '/tenants', { as: admin, body: { name: 'Acme', slug: 'acme' } });
  tenant = made.body.id;
  await t.call('PATCH', `/users/${alice.id}`, { as: admin, body: { tenantId: tenant } });
  const permissions = [{ resource: 'db:*', actions: ['read'] }];
  first = await t.agent(alice, { permissions });
  second = await t.agent(alice, { permissions });
  theirs = await t.agent(bob, { permissions });
});

const openOn = streamsOfTests();

/** Opens a stream. A filter may have several values. */
const open = (query: string, as: { token: string } | undefined = admin, headers = {}): Promise<Stream> =>
  openOn(t, { ...(as ? { as } : {}), query, headers });

const decide = async (agent = first, resource = 'db:x', action = 'read'): Promise<string> =>
  (await t.authorize(agent as TestAgent, { action, resource })).body.auditId.replace('aud_', 'evt_');
const idsOf = (stream: Stream): (string | undefined)[] =>
  stream.seen.filter(({ event }) => event === 'audit').map(({ id }) => id);
const lastOf = (stream: Stream, event: string) => stream.seen.filter((s) => s.event === event).map((s) => s.data);

describe('filters of a stream', () => {
  it('shows each caller the matching events that it may see, live and replayed', async () => {
    const since = encodeURIComponent(new Date(t.clock.now()).toISOString());
    const cases = [
      [`agentId=${first?.id}&agentId=${theirs?.id}`, admin, (d: Decision) => d.agent !== second],
      [`not.agentId=${first?.id}`, admin, (d: Decision) => d.agent !== first],
      [`agentId=${theirs?.id}`, alice, () => false],
      ['result=denied', alice, (d: Decision) => d.agent !== theirs && d.denied],
      ['result=denied&result=allowed&resource=db:*', first, (d: Decision) => d.agent === first && d.resource !== 'x:y'],
      [`ownerId=${bob?.id}`, admin, (d: Decision) => d.agent === theirs],
      [`ownerId=${bob?.id}`, alice, () => false],
      [`tenantId=${tenant}`, admin, (d: Decision) => d.agent !== theirs],
      [`not.tenantId=${tenant}`, admin, (d: Decision) => d.agent === theirs],
      ['reason=NO_PERMISSION&not.resource=db:*', admin, (d: Decision) => d.resource === 'x:y'],
      ['action=write', admin, (d: Decision) => d.action === 'write'],
      ['types=agent.updated&action=write', admin, (d: Decision) => d.action === 'write'],
    ] as const;
    const live = [];
    for (const [query, as] of cases) live.push(await open(`types=audit&${query}`, as));
    const made: Decision[] = [];
    for (const agent of [first, second, theirs])
      for (const [resource, action] of [
        ['db:x', 'read'],
        ['db:x', 'write'],
        ['x:y', 'read'],
      ] as const) {
        const id = await decide(agent, resource, action);
        made.push({
          id,
          agent: agent as TestAgent,
          resource,
          action,
          denied: action === 'write' || resource === 'x:y',
        });
      }
    for (const [i, [query, as, fits]] of cases.entries()) {
      const expected = made.filter(fits).map(({ id }) => id);
      const stream = live[i] as Stream;
      await stream.until(() => idsOf(stream).length >= expected.length);
      expect(idsOf(stream), query).toEqual(expected);
      const replayed = await open(`types=audit&since=${since}&${query}`, as);
      await replayed.until(() => idsOf(replayed).length >= expected.length);
      expect(idsOf(replayed), query).toEqual(expected);
      const [from] = expected;
      if (!from) continue;
      const resumed = await open(`types=audit&${query}`, as, { 'last-event-id': from });
      await resumed.until(() => idsOf(resumed).length >= expected.length - 1);
      expect(idsOf(resumed), query).toEqual(expected.slice(1));
    }
  });

  it('by tenant includes a user who joins the tenant, and excludes one who leaves it', async () => {
    const user = await t.user();
    const agent = await t.agent(user);
    const stream = await open(`types=audit&tenantId=${tenant}`);
    await decide(agent);
    const before = await decide(first);
    await stream.until(() => idsOf(stream).includes(before));
    await t.call('PATCH', `/users/${user.id}`, { as: admin, body: { tenantId: tenant } });
    const within = await decide(agent);
    await stream.until(() => idsOf(stream).includes(within));
    await t.call('PATCH', `/users/${user.id}`, { as: admin, body: { tenantId: null } });
    await decide(agent);
    const last = await decide(first);
    await stream.until(() => idsOf(stream).includes(last));
    expect(idsOf(stream)).toEqual([before, within, last]);
  });
});

interface Decision {
  readonly id: string;
  readonly agent: TestAgent;
  readonly resource: string;
  readonly action: string;
  readonly denied: boolean;
}

describe('a limit and counts', () => {
  it('skips events beyond maxPerSecond and reports their number; a resumed stream has all of them', async () => {
    const [stream, whole] = [await open('types=audit&maxPerSecond=3'), await open('types=audit')];
    const made = await Promise.all(Array.from({ length: 40 }, () => decide()));
    await whole.until(() => idsOf(whole).length === made.length);
    const skipped = (): number => lastOf(stream, 'skipped').reduce((sum: number, data) => sum + data.count, 0);
    await stream.until(() => skipped() + idsOf(stream).length >= made.length);
    expect(skipped() + idsOf(stream).length).toBe(made.length);
    expect(skipped()).toBeGreaterThan(0);
    for (const { id, event } of stream.seen) expect(id === undefined, event).toBe(event === 'skipped');
    // In the ledger the skipped events come directly after the last delivered event of their second.
    const shown = idsOf(stream);
    expect(idsOf(whole).filter((id) => shown.includes(id))).toEqual(shown);
    const place = idsOf(whole).indexOf(shown[2]);
    const resumed = await open('types=audit', admin, { 'last-event-id': shown[2] as string });
    await resumed.until(() => idsOf(resumed).length >= made.length - place - 1);
    expect(idsOf(resumed)).toEqual(idsOf(whole).slice(place + 1));
  });

  it('counts decisions by result once a second, including those that are skipped', async () => {
    const stream = await open(`types=audit&ticks=true&maxPerSecond=1&agentId=${first?.id}`);
    for (let i = 0; i < 4; i++) await decide();
    for (let i = 0; i < 2; i++) await decide(first, 'x:y');
    await decide(second);
    const sum = (result: string): number =>
      lastOf(stream, 'tick').reduce((total: number, data) => total + data[result], 0);
    await stream.until(() => sum('allowed') >= 4 && sum('denied') >= 2);
    expect([sum('allowed'), sum('denied'), sum('rate_limited')]).toEqual([4, 2, 0]);
    const ticks = lastOf(stream, 'tick').length;
    await stream.until(() => lastOf(stream, 'tick').length > ticks);
    expect(lastOf(stream, 'tick').at(-1)).toEqual({ allowed: 0, denied: 0, rate_limited: 0 });
    expect(lastOf(await open('types=audit'), 'tick')).toEqual([]);
  });

  it('does not count the steps of approvals, live and replayed', async () => {
    const agent = await t.agent(bob as TestUser, {
      permissions: [{ resource: 'db:*', actions: ['read'], constraints: { requireApproval: true } }],
    });
    const query = `types=audit&ticks=true&agentId=${agent.id}`;
    const live = await open(query);
    for (const verdict of ['deny', 'approve']) {
      const { approvalId } = (await t.authorize(agent, { action: 'read', resource: 'db:x' })).body;
      expect((await t.call('POST', `/approvals/${approvalId}/${verdict}`, { as: bob, body: {} })).status).toBe(200);
    }
    const last = await decide(agent);
    const since = encodeURIComponent(agent.body.createdAt);
    for (const stream of [live, await open(`${query}&since=${since}`)]) {
      await stream.until(() => idsOf(stream).at(-1) === last);
      expect(idsOf(stream).length).toBe(5);
      const ticks = lastOf(stream, 'tick').length;
      await stream.until(() => lastOf(stream, 'tick').length > ticks);
      const sum = (result: string): number =>
        lastOf(stream, 'tick').reduce((total: number, data) => total + data[result], 0);
      expect([sum('allowed'), sum('denied'), sum('rate_limited')]).toEqual([1, 2, 0]);
    }
  });

  it('400 names the problem before the stream begins', async () => {
    for (const [query, path] of [
      ['maxPerSecond=0', 'maxPerSecond'],
      ['maxPerSecond=10000', 'maxPerSecond'],
      ['maxPerSecond=x', 'maxPerSecond'],
      ['ticks=maybe', 'ticks'],
      ['result=nonsense', 'result'],
      ['not.result=nonsense', 'not.result'],
      ['ip=nonsense', 'ip'],
      ['unknown=1', 'unknown'],
      ['ids=x', 'ids'],
      ['order=asc', 'order'],
    ] as const) {
      const answer = await t.call('GET', `/api/legate/events/stream?${query}`, { as: admin });
      expect([query, answer.status, answer.body.error?.details?.issues?.[0]?.path]).toEqual([query, 400, path]);
    }
  });
});
