import { afterEach, describe, expect, it, vi } from 'vitest';
import { createTestService, type Json, type TestAgent } from '../../../test/support/service.ts';
import { untilPasses } from '../../../test/support/until.ts';
import { Yielder } from '../../ledger/index.ts';

const t = await createTestService({ lasting: true });
const owner = await t.user();
const read = { resource: 'db:*', actions: ['read'] };

const replay = (agent: TestAgent, as: { token: string } = owner) =>
  t.call('POST', `/agents/${agent.id}/permissions/replay`, { as, body: { permissions: [read] } });

async function agentWith(decisions: number, more: Json = {}): Promise<TestAgent> {
  const agent = await t.agent(owner, { permissions: [read] });
  const requests = Array.from({ length: decisions }, () => ({
    agentId: agent.id,
    action: 'read',
    resource: 'db:x',
    ...more,
  }));
  const r = await t.call('POST', '/authorize/batch', { as: owner, body: { requests } });
  expect(r.body.results.every(({ allowed }: Json) => allowed)).toBe(true);
  return agent;
}

/** Every reading of the process clock by a replay advances it by `ms`. Other readers, such as the sealer, do not. */
function slowly(ms: number): void {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    if (new Error().stack?.includes('permissions/replay.ts')) now += ms;
    return now;
  });
}

afterEach(() => vi.restoreAllMocks());

describe('POST /agents/:id/permissions/replay', () => {
  it('pauses after a few milliseconds of work, whatever the number of decisions', async () => {
    const agent = await agentWith(90);
    slowly(3);
    const pauses = vi.spyOn(Yielder.prototype, 'pause');
    expect((await replay(agent)).body).toEqual({ examined: 90, complete: true, changed: [] });
    expect(pauses.mock.calls.length).toBeGreaterThan(40);
  });

  it('ends after five seconds of work, and reports that it is not complete', async () => {
    const agent = await agentWith(40);
    slowly(1000);
    expect((await replay(agent)).body).toEqual({ examined: 5, complete: false, changed: [] });
  });

  it('keeps at most 64 MB of arguments in memory', async () => {
    const agent = await agentWith(1);
    const question = { agentId: agent.id, action: 'read', resource: 'db:x', arguments: { text: 'x'.repeat(60_000) } };
    const body = { requests: Array.from({ length: 16 }, () => question) };
    for (let i = 0; i < 71; i++)
      expect((await t.call('POST', '/authorize/batch', { as: owner, body })).status).toBe(200);
    // Each entry has 60,011 characters of arguments.
    expect((await replay(agent)).body).toEqual({ examined: 1119, complete: false, changed: [] });
  });

  it('503 for a second replay of the same owner with any credential; those of others run', async () => {
    const agent = await agentWith(20);
    const stranger = await t.user();
    const theirs = await t.agent(stranger, { permissions: [read] });
    slowly(10);
    let end = (): void => {};
    const held = new Promise<void>((resolve) => (end = resolve));
    const paused = vi.spyOn(Yielder.prototype, 'pause').mockReturnValueOnce(held);
    const first = replay(agent);
    await untilPasses(() => expect(paused).toHaveBeenCalled());
    for (const as of [owner, agent]) {
      const r = await replay(agent, as);
      expect([r.status, r.body.error.code, r.headers.get('retry-after')]).toEqual([503, 'TOO_MANY_REPLAYS', '5']);
    }
    expect((await replay(theirs, stranger)).status).toBe(200);
    end();
    expect((await first).status).toBe(200);
    expect((await replay(agent, agent)).status).toBe(200);
  });
});
