import { describe, expect, it } from 'vitest';
import {
  createTestService,
  dialect,
  type Json,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';

const HOUR = 3_600_000;
const NAMES = ['Payments reporter', 'payments-clerk', 'Café clerk', 'Zeppelin', 'alpha 100%', 'reporter of payments'];

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> => (service ??= createTestService({ lasting: true }));

interface Scene {
  readonly t: TestService;
  readonly owner: TestUser;
  readonly agents: readonly { id: string; token: string }[];
  readonly list: (query: string, as?: { token: string } | string) => ReturnType<TestService['call']>;
  readonly names: (query: string) => Promise<string[]>;
}

/** An owner with an agent of each name, whose numbers of calls and refusals differ. */
async function scene(): Promise<Scene> {
  const t = await shared();
  const owner = await t.user();
  const agents = [];
  for (const name of NAMES) {
    t.clock.advance(1000);
    agents.push(await t.agent(owner, { name, permissions: [{ resource: 'db:*', actions: ['read'] }] }));
  }
  const list: Scene['list'] = (query, as = owner) => t.call('GET', `/agents?${query}`, { as });
  const names: Scene['names'] = async (query) => (await list(query)).body.map((a: Json) => a.name);
  return { t, owner, agents, list, names };
}

async function decide({ t, agents }: Scene, calls: readonly (readonly [agent: number, resource: string])[]) {
  for (const [i, resource] of calls) {
    t.clock.advance(1000);
    const r = await t.authorize(agents[i] as { token: string }, { action: 'read', resource });
    expect(r.status).toBe(200);
  }
}

/** Returns all pages of a list, by its Link headers. */
async function everyPage({ t, owner }: Scene, query: string): Promise<Json[]> {
  const all: Json[] = [];
  for (let path: string | undefined = `/agents?${query}`; path; ) {
    const page = await t.call('GET', path, { as: owner });
    expect(page.status).toBe(200);
    all.push(...page.body);
    path = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
  }
  return all;
}

describe('GET /agents?view=summary', () => {
  it('shows the activity of agents instead of their permissions', async () => {
    const s = await scene();
    const { t, owner, list } = s;
    const unbounded = await t.agent(owner, { name: 'every', permissions: [{ resource: 'x:*', actions: ['*'] }] });
    const bounded = await t.agent(owner, {
      name: 'some',
      permissions: [{ resource: '*', actions: ['read'], constraints: { maxCallsPerHour: 1 } }],
    });
    await decide(s, [
      [0, 'db:a'],
      [0, 'db:b'],
      [0, 'other:a'],
    ]);
    const at = new Date(t.clock.now()).toISOString();
    const { body } = await list('view=summary');
    const of = (id: string): Json => body.find((a: Json) => a.id === id);
    expect(Object.keys(body[0]).sort()).toEqual(
      [
        ...['id', 'ownerId', 'name', 'type', 'status', 'expiresAt', 'createdAt', 'updatedAt', 'createdBy'],
        ...['permissionCount', 'unbounded', 'calls', 'refused', 'hours', 'lastDecisionAt'],
      ].sort(),
    );
    expect(of(s.agents[0]?.id as string)).toMatchObject({ calls: 3, refused: 1, lastDecisionAt: at, unbounded: false });
    const idle = Array.from({ length: 24 }, () => ({ calls: 0, refused: 0 }));
    expect(of(s.agents[0]?.id as string).hours).toEqual([...idle, { calls: 3, refused: 1 }]);
    expect(of(s.agents[1]?.id as string)).toMatchObject({ calls: 0, refused: 0, lastDecisionAt: null });
    expect(of(unbounded.id)).toMatchObject({ unbounded: true, permissionCount: 1 });
    expect(of(bounded.id)).toMatchObject({ unbounded: false });
    await t.call('PATCH', `/agents/${bounded.id}`, {
      as: owner,
      body: {
        name: 'renamed',
        permissions: [
          { resource: '*', actions: ['read'] },
          { resource: 'y', actions: ['z'] },
        ],
      },
    });
    const after = (await list('view=summary&q=renamed')).body;
    expect(after).toMatchObject([{ id: bounded.id, unbounded: true, permissionCount: 2 }]);
    t.clock.advance(2 * HOUR);
    const [, , ...earlier] = [...idle, { calls: 3, refused: 1 }];
    expect((await list(`view=summary&ids=${s.agents[0]?.id}`)).body[0].hours).toEqual([...earlier, idle[0], idle[0]]);
    // A day and an hour later the calls are outside the window, but the newest decision is still shown.
    t.clock.advance(23 * HOUR);
    expect((await list(`view=summary&ids=${s.agents[0]?.id}`)).body).toMatchObject([
      { calls: 0, refused: 0, lastDecisionAt: at },
    ]);
  });

  it('finds names by words and the beginnings of words, ignoring case and accents', async () => {
    const { names } = await scene();
    expect(await names('q=pay')).toEqual(['Payments reporter', 'payments-clerk', 'reporter of payments']);
    expect(await names('q=PAY%20rep')).toEqual(['Payments reporter', 'reporter of payments']);
    expect(await names('q=cafe')).toEqual(['Café clerk']);
    expect(await names('q=ayments')).toEqual([]);
    expect(await names('q=100%25')).toEqual(['alpha 100%']);
    expect(await names('q=%25')).toEqual([]);
    expect(await names('q=clerk&sort=-name')).toEqual(['payments-clerk', 'Café clerk']);
  });

  it('sorts by each key, in both directions, and pages without gaps', async () => {
    const s = await scene();
    await decide(s, [
      [3, 'db:a'],
      [3, 'db:a'],
      [3, 'no:a'],
      [1, 'no:a'],
      [1, 'no:b'],
      [4, 'db:a'],
    ]);
    const want: Record<string, string[]> = {
      name: ['alpha 100%', 'Café clerk', 'payments-clerk', 'Payments reporter', 'reporter of payments', 'Zeppelin'],
      createdAt: NAMES,
      lastDecisionAt: [
        ...['Payments reporter', 'Café clerk', 'reporter of payments'],
        ...['Zeppelin', 'payments-clerk', 'alpha 100%'],
      ],
      calls: [
        ...['Payments reporter', 'Café clerk', 'reporter of payments', 'alpha 100%'],
        ...['payments-clerk', 'Zeppelin'],
      ],
      refused: [
        ...['Payments reporter', 'Café clerk', 'alpha 100%', 'reporter of payments'],
        ...['Zeppelin', 'payments-clerk'],
      ],
    };
    for (const [sort, names] of Object.entries(want)) {
      const ascending = (await everyPage(s, `view=summary&limit=2&sort=${sort}`)).map((a) => a.name);
      const descending = (await everyPage(s, `limit=2&sort=-${sort}`)).map((a) => a.name);
      // Agents with equal values are in order of creation, so it is the ids whose order is reversed, not the names.
      expect([sort, new Set(ascending)]).toEqual([sort, new Set(NAMES)]);
      expect([sort, ascending.toReversed()]).toEqual([sort, descending]);
      if (sort !== 'refused') expect([sort, ascending]).toEqual([sort, names]);
      expect(ascending.at(-1)).toBe(names.at(-1));
    }
  });

  it('continues at the right place when agents are added and removed between pages', async () => {
    const s = await scene();
    const { t, owner, list } = s;
    for (const sort of ['name', '-name', '-createdAt', '-calls']) {
      const first = await list(`sort=${sort}&limit=2&status=active`);
      const next = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] as string;
      const added = await t.agent(owner, { name: `0 before all ${sort}` });
      await t.call('DELETE', `/agents/${first.body[0].id}`, { as: owner });
      const second = await t.call('GET', next, { as: owner });
      const seen = [...first.body, ...second.body].map((a: Json) => a.id);
      expect(new Set(seen).size).toBe(seen.length);
      await t.call('DELETE', `/agents/${added.id}`, { as: owner });
    }
  });

  it('returns the number of matches on all pages', async () => {
    const { t, list } = await scene();
    const total = async (query: string): Promise<string | null> =>
      (await list(query)).headers.get('legate-total-count');
    expect(await total('limit=2')).toBe('6');
    expect(await total('limit=2&view=summary&q=pay')).toBe('3');
    expect(await total('limit=1&sort=-calls&q=pay')).toBe('3');
    expect(await total('q=nothing')).toBe('0');
    const stranger = await t.user();
    expect((await list('', stranger)).headers.get('legate-total-count')).toBe('0');
  });

  it('filters by ids, expiry and idle time', async () => {
    const s = await scene();
    const { t, owner, agents, list, names } = s;
    const [a, b] = agents as unknown as [{ id: string }, { id: string }];
    const strangers = await t.agent(await t.user());
    expect(await names(`ids=${b.id},${a.id},${strangers.id},agt_nothing`)).toEqual([NAMES[0], NAMES[1]]);
    const soon = new Date(t.clock.now() + HOUR).toISOString();
    await t.call('PATCH', `/agents/${b.id}`, { as: owner, body: { expiresAt: soon } });
    expect(
      await names(`expiresBefore=${encodeURIComponent(new Date(t.clock.now() + 2 * HOUR).toISOString())}`),
    ).toEqual([NAMES[1]]);
    expect(await names(`expiresBefore=${encodeURIComponent(soon)}`)).toEqual([]);
    await decide(s, [[0, 'db:a']]);
    const lastAt = encodeURIComponent(new Date(t.clock.now()).toISOString());
    expect(await names(`idleSince=${lastAt}`)).toEqual(NAMES.slice(1));
    expect((await list(`idleSince=${lastAt}&limit=2`)).headers.get('legate-total-count')).toBe('5');
    t.clock.advance(1000);
    expect(await names(`idleSince=${encodeURIComponent(new Date(t.clock.now()).toISOString())}`)).toEqual(NAMES);
    const inProcess = await t.legate.agents.summaries({
      ownerId: owner.id,
      idleSince: new Date(t.clock.now()),
      sort: '-name',
    });
    expect(inProcess.map(({ name }) => name)[0]).toBe('Zeppelin');
  });

  it('shows only what the caller may see, in every order', async () => {
    const s = await scene();
    const { t, owner, agents, list } = s;
    const [agent] = agents as [{ id: string; token: string }];
    await decide(s, [[0, 'db:a']]);
    const stranger = await t.user();
    const tenant = await t.tenant();
    const member = await t.user({ tenantId: tenant });
    await t.agent(member);
    for (const query of ['view=summary', 'sort=name', 'sort=-calls', 'idleSince=2100-01-01', `ids=${agent.id}`]) {
      expect([query, (await list(query, stranger)).body]).toEqual([query, []]);
      const itself = (await list(`${query}&ownerId=${owner.id}`, agent.token)).body;
      expect([query, itself.map((a: Json) => a.id)]).toEqual([query, [agent.id]]);
      const ofTenant = await list(`${query}&tenantId=${tenant}`, await t.admin());
      expect(ofTenant.body.length).toBe(query.startsWith('ids') ? 0 : 1);
      expect(
        (await list(`${query}&ownerId=${owner.id}`, await t.user({ role: 'auditor' }))).body.length,
      ).toBeGreaterThan(0);
    }
  });

  it('refuses invalid parameters, and a cursor of another order', async () => {
    const { list } = await scene();
    const cursorOf = async (query: string): Promise<string> =>
      new URL(
        /<([^>]+)>/.exec((await list(query)).headers.get('link') ?? '')?.[1] as string,
        'http://x',
      ).searchParams.get('cursor') as string;
    const byName = await cursorOf('limit=1&sort=name');
    const byCalls = await cursorOf('limit=1&sort=-calls');
    const byAge = await cursorOf('limit=1');
    const bad = [
      'sort=permissions',
      'sort=--name',
      'view=short',
      'vieww=summary',
      `q=${'x'.repeat(201)}`,
      'q=',
      'ids=',
      `ids=${Array.from({ length: 10_000 }, (_, i) => `agt_${i}`).join(',')}`,
      'expiresBefore=soon',
      'idleSince=1',
      `sort=calls&cursor=${byName}`,
      `sort=name&cursor=${byCalls}`,
      `sort=calls&cursor=${byCalls}`,
      `cursor=${byName}`,
      `sort=-createdAt&cursor=${byAge}`,
      `sort=name&cursor=${byAge}`,
      'sort=name&cursor=bm9uc2Vuc2U',
      `sort=name&cursor=${Buffer.from(JSON.stringify(['name', 5, {}])).toString('base64url')}`,
      `sort=calls&cursor=${Buffer.from(JSON.stringify(['calls', 'x', 'y'])).toString('base64url')}`,
    ];
    for (const query of bad) {
      const r = await list(query);
      expect([query.slice(0, 60), r.status, r.body.error?.code]).toEqual([
        query.slice(0, 60),
        400,
        'VALIDATION_FAILED',
      ]);
    }
  });

  it(
    'counts decisions of another instance, and those from before a restart',
    async () => {
      const s = await scene();
      const { t, agents } = s;
      await decide(s, [[2, 'db:a']]);
      const other = await createTestService({ sameDatabaseAs: t });
      const seen = async (at: TestService): Promise<unknown> =>
        (await at.call('GET', `/agents?view=summary&ids=${agents[2]?.id}`, { as: s.owner })).body[0].calls;
      expect(await seen(other)).toBe(1);
      await other.authorize(agents[2] as { token: string }, { action: 'read', resource: 'db:b' });
      expect(await seen(t)).toBe(2);
      expect(await seen(other)).toBe(2);
    },
    dialect === 'postgres' ? 20_000 : 10_000,
  );
});

describe('GET /users?q=', () => {
  it('finds people by words of name and address', async () => {
    const t = await shared();
    const admin = await t.admin();
    const { id } = await t.legate.users.create({
      email: 'grace.hopper@navy.example',
      name: 'Amazing Grace',
      password: 'correct horse battery',
    });
    const found = async (q: string): Promise<string[]> =>
      (await t.call('GET', `/users?q=${encodeURIComponent(q)}`, { as: admin })).body.map((u: Json) => u.id);
    for (const q of ['hop', 'GRACE', 'ama hop', 'navy', 'grace.hopper@navy.example'])
      expect([q, await found(q)]).toEqual([q, [id]]);
    for (const q of ['race', 'hop nobody', '%']) expect([q, await found(q)]).toEqual([q, []]);
    const make = async (name: string, email: string) =>
      (await t.legate.users.create({ name, email, password: 'correct horse battery' })).id;
    const jose = await make('José Ann-Marie O’Neil', 'dev_ops@example.com');
    const umlaut = await make('Jürgen Müller', 'Ünal@Example.com');
    for (const q of ['José', 'jose', 'JOSÉ', 'Ann-Marie', 'marie', 'O’Neil', 'neil', 'dev_ops', 'ops'])
      expect([q, await found(q)]).toEqual([q, [jose]]);
    for (const q of ['Müller', 'MULLER', 'ünal@example.com']) expect([q, await found(q)]).toEqual([q, [umlaut]]);
    await t.call('PATCH', `/users/${umlaut}`, { as: admin, body: { name: 'Renamed' } });
    expect([await found('müller'), await found('renamed'), await found('ünal')]).toEqual([[], [umlaut], [umlaut]]);
    expect((await t.call('GET', '/users?q=hop', { as: await t.user() })).status).toBe(403);
    expect((await t.call('GET', '/users?q=', { as: admin })).status).toBe(400);
  });
});
