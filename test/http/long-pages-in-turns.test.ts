import { describe, expect, it } from 'vitest';
import { newWorldOf } from '../support/world.ts';

const REQUESTS = 16;
/** About 900 KB. */
const LONG = Array.from({ length: 75 }, (_, i) => ({
  resource: 'mcp:a:*',
  actions: Array.from({ length: 100 }, (_, j) => `${i}-${j}-`.padEnd(115, 'x')),
}));

/** A service in which an agent requests itself, a long page, many times at once. */
async function busyWorld() {
  const world = await newWorldOf({ owner: {}, other: {} }, { agent: { permissions: LONG }, small: { owner: 'other' } });
  const { t, agent } = world;
  const client = new AbortController();
  let answered = 0;
  const pages = Array.from({ length: REQUESTS }, async () => {
    const headers = { authorization: `Bearer ${agent.token}` };
    const request = new Request(`${t.legate.baseUrl}/agents`, { headers, signal: client.signal });
    const { status } = await t.legate.fetch(request);
    answered++;
    return status;
  });
  return { ...world, client, pages, answered: () => answered };
}

describe('A request for a long page that waits for its turn', () => {
  it('is refused if its credential has ended meanwhile', async () => {
    const { t, owner, agent, pages } = await busyWorld();
    expect((await t.call('DELETE', `/agents/${agent.id}`, { as: owner })).status).toBe(204);
    // On PostgreSQL, the requests reach their turns in another order than they were sent.
    expect(new Set(await Promise.all(pages))).toEqual(new Set([200, 401]));
  });

  it('is not carried out if its client has disconnected', async () => {
    const { t, client, pages, other } = await busyWorld();
    expect((await t.call('GET', '/agents', { as: other })).status).toBe(200);
    client.abort();
    expect((await Promise.all(pages)).filter((status) => status === 499).length).toBeGreaterThan(REQUESTS / 2);
  });

  it('does not hold up decisions and short pages of others', async () => {
    const { t, small, other, pages, answered } = await busyWorld();
    const body = { action: 'read', resource: 'db:x' };
    expect((await t.call('POST', '/authorize', { as: small, body })).status).toBe(200);
    expect((await t.call('GET', '/agents', { as: other })).body).toHaveLength(1);
    expect(answered()).toBeLessThan(REQUESTS / 2);
    expect(new Set(await Promise.all(pages))).toEqual(new Set([200]));
  });
});
