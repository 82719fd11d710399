import { describe, expect, it } from 'vitest';
import { createTestService, type Json } from '../../../test/support/service.ts';

const t = await createTestService({ lasting: true });
const owner = await t.user();
const agent = await t.agent(owner, { permissions: [{ resource: 'db:*', actions: ['read'] }] });

/** Each entry has 60,011 characters of arguments, so that 139 entries fit into a page. */
const question = { agentId: agent.id, action: 'read', resource: 'db:x', arguments: { text: 'x'.repeat(60_000) } };
const body = { requests: Array.from({ length: 15 }, () => question) };
for (let i = 0; i < 20; i++) await t.call('POST', '/authorize/batch', { as: owner, body });
/** The ids of all entries, oldest first. */
const ids: string[] = (await t.call('GET', '/audit/export?format=json', { as: owner })).body.map(({ id }: Json) => id);

async function pages(first: string, rel: string): Promise<string[][]> {
  const found: string[][] = [];
  for (let at: string | undefined = first; at !== undefined; ) {
    const r = await t.call('GET', at, { as: owner });
    expect(r.status).toBe(200);
    found.push(r.body.map(({ id, data }: Json) => data?.id ?? id));
    const links = r.headers.get('link') ?? '';
    at = new RegExp(`<([^>]+)>; rel="${rel}"`).exec(links)?.[1];
  }
  return found;
}

describe('pages of entries with large arguments', () => {
  it('end early, and continue by Link without a gap, in both orders', async () => {
    for (const [order, expected] of [['asc', ids] as const, ['desc', ids.toReversed()] as const]) {
      const found = await pages(`/audit?agentId=${agent.id}&limit=1000&order=${order}`, 'next');
      expect(found.map((page) => page.length)).toEqual([139, 139, 22]);
      expect(found.flat()).toEqual(expected);
    }
  });

  it('go back by Link without a gap', async () => {
    const r = await t.call('GET', `/audit?agentId=${agent.id}&limit=1000&offset=299`, { as: owner });
    const prev = /<([^>]+)>; rel="prev"/.exec(r.headers.get('link') ?? '')?.[1] ?? '';
    const found = await pages(prev, 'prev');
    expect(found[0]).toHaveLength(139);
    expect(found.toReversed().flat()).toEqual(ids.toReversed().slice(0, 299));
  });

  it('end early on both sides of an entry', async () => {
    const middle = ids[150] as string;
    const r = await t.call('GET', `/audit?agentId=${agent.id}&limit=1000&around=${middle}`, { as: owner });
    const found = r.body.map(({ id }: Json) => id);
    expect(found).toContain(middle);
    expect(found).toEqual(
      ids
        .toReversed()
        .slice(ids.length - 1 - ids.indexOf(found[0]))
        .slice(0, found.length),
    );
    expect(found.length).toBeLessThan(280);
    expect(r.headers.get('link')).toContain('rel="next"');
    expect(r.headers.get('link')).toContain('rel="prev"');
  });

  it('are complete with the default limit', async () => {
    expect((await t.call('GET', `/audit?agentId=${agent.id}`, { as: owner })).body).toHaveLength(100);
  });

  it('end early in the list of events too', async () => {
    const found = await pages('/events?types=audit&limit=1000&order=asc', 'next');
    expect(found.length).toBeGreaterThan(2);
    expect(found.flat()).toEqual(ids);
  });
});
