import { describe, expect, it, vi } from 'vitest';
import { until } from '../support/until.ts';
import { newWorldOf } from '../support/world.ts';

/** Requests for pages that run at a time. */
const AT_ONCE = { sqlite: 1, postgres: 3 } as const;
const HELD = `/changes?since=${encodeURIComponent('2020-01-01T00:00:00.000Z')}`;

/** A service in which all turns are taken by requests that last until they are released. */
async function busyWorld() {
  const world = await newWorldOf({ owner: {}, other: {} }, { agent: {} });
  const { t, owner } = world;
  const { database, reader } = t.legate.platform;
  const readers = AT_ONCE[database.dialect];
  const original = reader.seqAt.bind(reader);
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const seqAt = vi.spyOn(reader, 'seqAt').mockImplementation(async (time) => {
    await released;
    return original(time);
  });
  const held = Array.from({ length: readers }, () => t.call('GET', HELD, { as: owner }));
  await until(() => seqAt.mock.calls.length === readers);
  const end = async (): Promise<void> => {
    release();
    for (const { status } of await Promise.all(held)) expect(status).toBe(200);
  };
  return { ...world, readers, seqAt, end };
}

describe('A request for a list that waits for its turn', () => {
  it('is refused if its credential has ended meanwhile', async () => {
    const { t, owner, agent, other, end } = await busyWorld();
    const refused = t.call('GET', '/agents', { as: agent });
    const listed = t.call('GET', '/agents', { as: other });
    expect((await t.call('GET', `/agents/${agent.id}`, { as: agent })).status).toBe(200);
    expect((await t.call('DELETE', `/agents/${agent.id}`, { as: owner })).status).toBe(204);
    await end();
    expect((await refused).body.error.code).toBe('UNAUTHORIZED');
    expect((await listed).body).toEqual([]);
  });

  it('is not carried out if its client has disconnected', async () => {
    const { t, other, readers, seqAt, end } = await busyWorld();
    const client = new AbortController();
    const gone = t.legate.fetch(
      new Request(`${t.legate.baseUrl}${HELD}`, {
        headers: { authorization: `Bearer ${other.token}` },
        signal: client.signal,
      }),
    );
    const staying = t.call('GET', HELD, { as: other });
    expect((await t.call('GET', '/auth/session', { as: other })).status).toBe(200);
    client.abort();
    await end();
    await gone;
    expect((await staying).status).toBe(200);
    expect(seqAt).toHaveBeenCalledTimes(readers + 1);
  });

  it('does not hold up decisions and other requests', async () => {
    const { t, agent, end } = await busyWorld();
    const list = t.call('GET', '/agents', { as: agent });
    const body = { action: 'read', resource: 'db:x' };
    expect((await t.call('POST', '/authorize', { as: agent, body })).body.allowed).toBe(false);
    expect((await t.call('GET', `/agents/${agent.id}`, { as: agent })).status).toBe(200);
    await end();
    expect((await list).status).toBe(200);
  });
});
