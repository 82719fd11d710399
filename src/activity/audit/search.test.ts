import { beforeAll, describe, expect, it } from 'vitest';
import {
  appendRandom,
  asSearch,
  type ModelQuery,
  type ModelRow,
  modelFilter,
  type People,
  randomQuery,
} from '../../../test/support/ledger-model.ts';
import { type Random, random } from '../../../test/support/random.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { newId } from '../../kernel/ids.ts';
import { EventIndex, LedgerReader } from '../../ledger/index.ts';

const ROUNDS = Number(process.env['LEGATE_SEARCH_ROUNDS'] ?? 25);
/** Small enough that a few hundred rows fill several segments. */
const SEGMENT_ROWS = 150;

let t: TestService;
let admin: TestUser;
let people: People;
let index: EventIndex;
let r: Random;
const rows: ModelRow[] = [];
let alice: TestUser;
let bob: TestUser;

/** Replaces the index of the service with one of small segments. */
function useIndex(segmentRows: number): void {
  const { platform } = t.legate;
  index = new EventIndex(platform.database, (work) => platform.ledger.maintain(work), segmentRows);
  Object.assign(platform, { reader: new LedgerReader(platform.database, index, () => platform.ledger.stats.records) });
}

beforeAll(async () => {
  r = random();
  t = await createTestService({ lasting: true });
  admin = await t.admin();
  [alice, bob] = [await t.user(), await t.user()];
  const tenant = await t.call('POST', '/tenants', { as: admin, body: { name: 'Acme', slug: 'acme' } });
  await t.legate.platform.database.write
    .updateTable('users')
    .set({ tenant_id: tenant.body.id })
    .where('id', '=', alice.id)
    .execute();
  const agents = [];
  for (const user of [alice, alice, bob])
    agents.push({
      id: (await t.agent(user)).id,
      userId: user.id,
      tenantId: user === alice ? (tenant.body.id as string) : null,
    });
  people = { agents };
  useIndex(SEGMENT_ROWS);
  // Writes the rows in two parts, so that one part of the index was stored before and the other is read from the
  // ledger.
  rows.push(...(await appendRandom(t, people, 500, r)));
  await index.catchUp();
  rows.push(...(await appendRandom(t, people, 220, r)));
});

const get = async (path: string, as: TestUser = admin) => t.call('GET', path, { as });
const decisions = (): ModelRow[] => rows.filter(({ type }) => type === 'audit');
const idsOf = (list: readonly { id: string }[]): string[] => list.map(({ id }) => id);
const link = (answer: { headers: Headers }, rel: string): string | undefined =>
  new RegExp(`<([^>]+)>; rel="${rel}"`).exec(answer.headers.get('link') ?? '')?.[1];

/** Follows the `rel` links from a page to the last one. Returns the pages. */
async function walk(first: string, rel: 'next' | 'prev'): Promise<{ ids: string[][]; last: string }> {
  const pages: string[][] = [];
  for (let path = first; ; ) {
    const answer = await get(path);
    expect(answer.status, `${path} ${answer.text}`).toBe(200);
    pages.push(idsOf(answer.body));
    const further = link(answer, rel);
    if (!further) return { ids: pages, last: path };
    path = further;
  }
}

const note = (query: ModelQuery): string => `seed ${r.seed}: ${asSearch(query)}`;

describe('filters of the audit log against a plain filter', () => {
  it('return the same as the plain filter, in both orders, forwards to the end and back', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const query = randomQuery(decisions(), people, r);
      const wanted = idsOf(modelFilter(decisions(), query));
      for (const order of ['asc', 'desc'] as const) {
        const expected = order === 'asc' ? wanted : [...wanted].reverse();
        const limit = 1 + r.below(60) + Math.floor(expected.length / 8);
        const forth = await walk(`/audit?${asSearch(query, { order, limit: String(limit) })}`, 'next');
        expect(forth.ids.flat(), note(query)).toEqual(expected);
        const back = await walk(forth.last, 'prev');
        expect(back.ids.reverse().flat(), note(query)).toEqual(expected);
        const offset = r.below(expected.length + 1);
        const skipped = await get(`/audit?${asSearch(query, { order, limit: '7', offset: String(offset) })}`);
        expect(idsOf(skipped.body), note(query)).toEqual(expected.slice(offset, offset + 7));
      }
    }
  });

  it('show the page around an entry, with the entries before and after it', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const query = randomQuery(decisions(), people, r);
      const all = modelFilter(decisions(), query);
      const middle = decisions()[r.below(decisions().length)] as ModelRow;
      const answer = await get(`/audit?${asSearch(query, { around: middle.id, limit: '11' })}`);
      const newer = all.filter(({ seq }) => seq > middle.seq);
      const older = all.filter(({ seq }) => seq <= middle.seq);
      const above = Math.min(newer.length, 11, Math.max(5, 11 - older.length));
      const expected = [...newer.slice(0, above).reverse(), ...[...older].reverse().slice(0, 11 - above)];
      expect(idsOf(answer.body), note(query)).toEqual(idsOf(expected));
      const around = [
        ...(link(answer, 'prev') ? (await walk(link(answer, 'prev') as string, 'prev')).ids.reverse().flat() : []),
        ...idsOf(answer.body),
        ...(link(answer, 'next') ? (await walk(link(answer, 'next') as string, 'next')).ids.flat() : []),
      ];
      expect(around, note(query)).toEqual(idsOf([...all].reverse()));
    }
  });

  it('export the same entries in both orders', async () => {
    for (let round = 0; round < Math.ceil(ROUNDS / 5); round++) {
      const query = randomQuery(decisions(), people, r);
      const wanted = idsOf(modelFilter(decisions(), query));
      const exported = async (more: Record<string, string>) =>
        idsOf((await get(`/audit/export?${asSearch(query, { format: 'json', ...more })}`)).body);
      expect(await exported({}), note(query)).toEqual(wanted);
      expect(await exported({ order: 'desc' }), note(query)).toEqual([...wanted].reverse());
    }
  });

  it('list events of every type by the same filters', async () => {
    const streamId = (id: string): string => `evt_${id.slice(4)}`;
    for (let round = 0; round < ROUNDS; round++) {
      const query = randomQuery(rows, people, r);
      const order = r.below(2) ? 'asc' : 'desc';
      const types = 'audit,agent.updated,cost.recorded';
      // The model does not contain the events of the set-up.
      const since = new Date((rows[0] as ModelRow).timestamp).toISOString();
      const expected = modelFilter(rows, query).map(({ id }) => streamId(id));
      const path = `/events?${asSearch(query, { order, types, since, limit: '150' })}`;
      const found = (await walk(path, 'next')).ids.flat();
      expect(order === 'asc' ? found : found.reverse(), note(query)).toEqual(expected);
    }
  });

  it('count like the plain filter, over time and by value', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const query = randomQuery(decisions(), people, r);
      const all = modelFilter(decisions(), query);
      const buckets = 1 + r.below(200);
      const [a, b] = [r.below(rows.length), r.below(rows.length)];
      const range =
        r.below(2) && a !== b
          ? {
              since: new Date((rows[Math.min(a, b)] as ModelRow).timestamp).toISOString(),
              until: new Date((rows[Math.max(a, b)] as ModelRow).timestamp).toISOString(),
            }
          : undefined;
      const { body } = await get(`/audit/histogram?${asSearch(query, { ...range, buckets: String(buckets) })}`);
      const since = range ? Date.parse(range.since) : all[0]?.timestamp;
      const until = range ? Date.parse(range.until) : (all.at(-1)?.timestamp ?? -1) + 1;
      if (since === undefined) {
        expect(body, note(query)).toEqual({ since: null, until: null, buckets: [] });
      } else {
        expect([Date.parse(body.since), Date.parse(body.until)], note(query)).toEqual([since, until]);
        expect(body.buckets.length, note(query)).toBe(Math.min(buckets, until - since));
        let at = since;
        for (const bucket of body.buckets) {
          expect(Date.parse(bucket.since)).toBe(at);
          at = Date.parse(bucket.until);
          const within = all.filter(({ timestamp }) => timestamp >= Date.parse(bucket.since) && timestamp < at);
          expect(bucket.counts, note(query)).toEqual(countsOf(within));
        }
        expect(at).toBe(until);
      }

      const by = (['reason', 'action', 'resource', 'agentId', 'ip'] as const)[r.below(5)] as 'reason';
      const facets = (await get(`/audit/facets?${asSearch(query, { by, limit: '4' })}`)).body;
      const groups = new Map<string, ModelRow[]>();
      for (const row of all)
        if (row[by] !== null) groups.set(row[by] as string, [...(groups.get(row[by] as string) ?? []), row]);
      const values = [...groups]
        .map(([value, own]) => ({ value, count: own.length, counts: countsOf(own), last: own.at(-1)?.seq ?? 0 }))
        .sort((x, y) => y.count - x.count || y.last - x.last)
        .map(({ last: _, ...rest }) => rest);
      expect(facets, note(query)).toEqual({
        by,
        total: all.length,
        missing: all.filter((row) => row[by] === null).length,
        distinct: groups.size,
        values: values.slice(0, 4),
      });
    }
  });

  it('return the same before the index has caught up, and from another process with its own index', async () => {
    const query: ModelQuery = [
      ['resource', 'mcp:*'],
      ['not.result', 'allowed'],
    ];
    const expected = idsOf(modelFilter(decisions(), query)).reverse();
    useIndex(40);
    expect(idsOf((await get(`/audit?${asSearch(query, { limit: '1000' })}`)).body)).toEqual(expected);
    // The index takes over a decision of its own service without reading it again.
    const agent = await t.agent(alice, { permissions: [{ resource: 'mcp:*', actions: ['read'] }] });
    const made = (await t.authorize(agent, { action: 'write', resource: 'mcp:new' })).body.auditId;
    expect(idsOf((await get(`/audit?${asSearch(query, { limit: '1000' })}`)).body)).toEqual([made, ...expected]);
    useIndex(SEGMENT_ROWS);
    expect(idsOf((await get(`/audit?${asSearch(query, { limit: '1000' })}`)).body)).toEqual([made, ...expected]);
  });
});

const countsOf = (list: readonly ModelRow[]) => {
  const counts = { allowed: 0, denied: 0, rate_limited: 0 };
  for (const { result } of list) if (result) counts[result as 'denied']++;
  return counts;
};

describe('visibility of what others own', () => {
  it("a filter by somebody else's id finds nothing", async () => {
    const [mine, , theirs] = people.agents as unknown as [{ id: string }, { id: string }, { id: string }];
    const own = (await get('/audit?limit=1000', alice)).body as Json[];
    expect(own.length).toBeGreaterThan(0);
    expect(new Set(own.map((e) => e.userId))).toEqual(new Set([alice.id]));
    for (const query of [
      `agentId=${theirs.id}`,
      `userId=${bob.id}`,
      `ownerId=${bob.id}`,
      'tenantId=tnt_none',
      `not.userId=${alice.id}`,
      `not.ownerId=${alice.id}`,
    ]) {
      expect((await get(`/audit?${query}`, alice)).body, query).toEqual([]);
      expect((await get(`/events?${query}`, alice)).body, query).toEqual([]);
      expect((await get(`/audit/export?format=json&${query}`, alice)).body, query).toEqual([]);
      expect((await get(`/audit/histogram?${query}`, alice)).body.buckets, query).toEqual([]);
      const facets = (await get(`/audit/facets?by=agentId&${query}`, alice)).body;
      expect([facets.total, facets.values], query).toEqual([0, []]);
    }
    const seen = (await get(`/audit?agentId=${mine.id}&agentId=${theirs.id}&limit=1000`, alice)).body as Json[];
    expect(new Set(seen.map((e) => e.agentId))).toEqual(new Set([mine.id]));
    const values = (await get('/audit/facets?by=agentId', alice)).body.values as Json[];
    expect(values.map(({ value }) => value)).not.toContain(theirs.id);
  });

  it("somebody else's id is not found, as if it did not exist", async () => {
    const [theirs] = (await get(`/audit?userId=${bob.id}&limit=1`)).body as Json[];
    expect((await get(`/audit?ids=${theirs.id}`, alice)).body).toEqual([]);
    expect((await get(`/audit?ids=${theirs.id}`)).body).toHaveLength(1);
    const unknown = await get('/audit?around=aud_00000000000000000000000000', alice);
    const foreign = await get(`/audit?around=${theirs.id}`, alice);
    expect([foreign.status, foreign.body]).toEqual([404, unknown.body]);
    const event = await get(`/events?around=evt_${theirs.id.slice(4)}`, alice);
    expect([event.status, event.body.error.code]).toEqual([404, 'EVENT_NOT_FOUND']);
    expect((await get(`/events?around=evt_${theirs.id.slice(4)}`)).status).toBe(200);
  });

  it('an agent counts only its own decisions', async () => {
    const agent = await t.agent(alice, { permissions: [{ resource: 'x:*', actions: ['read'] }] });
    await t.authorize(agent, { action: 'read', resource: 'x:1' });
    await t.authorize(agent, { action: 'read', resource: 'y:1' });
    const facets = (await t.call('GET', '/audit/facets?by=agentId', { as: agent })).body;
    expect(facets.values).toEqual([{ value: agent.id, count: 2, counts: { allowed: 1, denied: 1, rate_limited: 0 } }]);
    const other = (await t.call('GET', `/audit/facets?by=agentId&not.agentId=${agent.id}`, { as: agent })).body;
    expect(other.total).toBe(0);
  });
});

describe('bad input', () => {
  it('400 names the parameter', async () => {
    const [first] = (await get('/audit?limit=1')).body as Json[];
    const other = link(await get('/audit?limit=1'), 'next')?.match(/cursor=([^&]+)/)?.[1] as string;
    const list = (count: number) => Array.from({ length: count }, () => newId('audit', t.clock.now())).join();
    for (const [path, issue] of [
      ['/audit?unknown=1', 'unknown'],
      ['/audit?not.limit=1', 'not.limit'],
      ['/audit?not=1', 'not'],
      ['/audit?not.not.reason=x', 'not.not.reason'],
      ['/audit?since=2030-01-02&until=2030-01-01', 'until'],
      ['/audit?since=2030-01-02&since=2030-01-03', 'since'],
      ['/audit?result=nonsense', 'result'],
      ['/audit?result=denied&result=nonsense', 'result'],
      ['/audit?agentId=', 'agentId'],
      [`/audit?${'agentId=a&'.repeat(51)}`, 'agentId'],
      ['/audit?ip=nonsense', 'ip'],
      ['/audit?ids=nonsense', 'ids'],
      ['/audit?ids=', 'ids'],
      [`/audit?ids=${list(101)}`, 'ids'],
      [`/audit?ids=${list(10_000).slice(0, 7000)}`, 'ids'],
      [`/audit?resource=${'a:'.repeat(17)}*`, 'resource'],
      ['/audit?order=up', 'order'],
      ['/audit?around=nonsense', 'around'],
      [`/audit?cursor=${other}&order=asc`, 'cursor'],
      [`/audit?cursor=${other}&reason=x`, 'cursor'],
      [`/events?cursor=${other}`, 'cursor'],
      [`/audit?around=${first.id}&cursor=${other}`, 'around'],
      [`/audit?around=${first.id}&offset=1`, 'around'],
      ['/audit/export?format=json&around=x', 'around'],
      ['/audit/histogram?buckets=0', 'buckets'],
      ['/audit/histogram?buckets=201', 'buckets'],
      ['/audit/histogram?buckets=1.5', 'buckets'],
      ['/audit/histogram?since=2030-01-02&until=2030-01-01', 'until'],
      ['/audit/facets', 'by'],
      ['/audit/facets?by=unknown', 'by'],
      ['/audit/facets?by=reason&limit=0', 'limit'],
      ['/audit/facets?by=reason&limit=101', 'limit'],
      ['/events?unknown=1', 'unknown'],
      ['/events?not.types=audit', 'not.types'],
    ] as const) {
      const answer = await get(path);
      expect([path.slice(0, 60), answer.status, answer.body.error?.details?.issues?.[0]?.path]).toEqual([
        path.slice(0, 60),
        400,
        issue,
      ]);
    }
    expect((await get('/audit/histogram?since=2030-01-01&until=2030-01-01')).body.buckets).toEqual([]);
  });
});
