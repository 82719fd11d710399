import { randomUUID } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';
import { untilPasses } from '../../../test/support/until.ts';
import { SYSTEM } from '../../access/actor.ts';
import { asId } from '../../kernel/ids.ts';
import { Ledger } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type AuthorizeInput, authorize } from './authorize.ts';
import { Glob } from './glob.ts';
import { PolicyCache, policyCache } from './policy.ts';

const asker = {
  principal: null,
  epoch: 0,
  reauthenticate: async () => ({ kind: 'anonymous' }) as const,
  ip: null,
  userAgent: null,
  startedAt: 0,
};

/** Starts another instance in this process whose agent cache holds about this many bytes. */
function withCache(t: TestService, maxBytes: number): Platform {
  const { platform } = t.legate;
  const policy = new PolicyCache(t.clock, maxBytes);
  const ledger = new Ledger({
    database: platform.database,
    clock: t.clock,
    databaseClock: t.clock,
    policy,
    instance: randomUUID(),
    onError: (message, error) => {
      throw new Error(message, { cause: error });
    },
    onWarning: () => {},
  });
  const stateOf: Platform['stateOf'] = (state) =>
    state === (policyCache as unknown) ? (policy as never) : platform.stateOf(state);
  return { ...platform, stateOf, policy, ledger };
}

const many = (prefix: string) =>
  Array.from({ length: 100 }, (_, i) => ({ resource: `${prefix}:${i}`, actions: ['read'] }));

const delegate = async (t: TestService, owner: TestUser, from: TestAgent, to: TestAgent, resource: string) => {
  const made = await t.call('POST', '/delegations', {
    as: owner,
    body: {
      fromAgent: from.id,
      toAgent: to.id,
      permissions: [{ resource, actions: ['read'] }],
      expiresAt: '2031-01-01T00:00:00.000Z',
    },
  });
  expect(made.status, made.text).toBe(201);
};

describe('an agent whose policy is larger than the agent cache', () => {
  it('is decided like any other, alone and in a batch, with own and received permissions', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const [a, b, c] = [
      await t.agent(owner, { permissions: many('a') }),
      await t.agent(owner, { permissions: many('b') }),
      await t.agent(owner),
    ];
    await delegate(t, owner, a, b, 'a:7');
    await delegate(t, owner, b, c, 'a:7');
    for (const maxBytes of [2000, 100_000]) {
      const platform = withCache(t, maxBytes);
      const ask = async (agentId: string, resource: string) =>
        (await authorize(platform, asker, { agentId: asId('agent', agentId), action: 'read', resource })).allowed;
      for (let i = 0; i < 2; i++) {
        expect([
          await ask(a.id, 'a:1'),
          await ask(b.id, 'b:1'),
          await ask(c.id, 'a:7'),
          await ask(c.id, 'a:8'),
        ]).toEqual([true, true, true, false]);
        const all = await Promise.all(
          Array.from({ length: 60 }, (_, n) => [ask(a.id, 'a:1'), ask(b.id, 'a:7'), ask(c.id, 'a:7')][n % 3]),
        );
        expect(all.every((allowed) => allowed)).toBe(true);
      }
      await platform.ledger.close();
    }
  });
});

describe('conditions on the arguments', () => {
  it("are evaluated before the ledger's lock and only looked up while it is held", async () => {
    const t = await createTestService();
    const owner = await t.user();
    const constraints = { allowedArgPatterns: ['/data/**', '/tmp/*'] };
    const root = await t.agent(owner, {
      permissions: [
        { resource: 'fs:*', actions: ['read'], constraints: { ...constraints, maxCallsPerHour: 2 } },
        { resource: 'fs:x', actions: ['read'], constraints },
      ],
    });
    const agent = await t.agent(owner);
    await delegate(t, owner, root, agent, 'fs:x');
    // The first batch of an instance loads everything.
    await t.authorize(await t.agent(owner), { action: 'read', resource: 'fs:x' });
    const matches = vi.spyOn(Glob.prototype, 'matches');
    const asked = (id: string, length: number): AuthorizeInput => ({
      agentId: asId('agent', id),
      action: 'read',
      resource: 'fs:x',
      arguments: { paths: ['/data/a', '/tmp/b'], text: `/data/${'x'.repeat(length)}` },
    });
    const { platform } = t.legate;
    for (const input of [asked(root.id, 1), asked(root.id, 20_000), asked(agent.id, 20_000)]) {
      let unlock = (): void => {};
      let locked: Promise<void> | undefined;
      await new Promise<void>((holdsTheLock) => {
        locked = platform.ledger.change(
          SYSTEM,
          () =>
            new Promise<void>((resolve) => {
              unlock = resolve;
              holdsTheLock();
            }),
        );
      });
      const answer = authorize(platform, asker, input);
      for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
      try {
        await untilPasses(() => expect(matches.mock.calls.length).toBe(8), { timeout: 60_000 });
      } finally {
        unlock();
        await locked;
      }
      expect((await answer).allowed).toBe(true);
      expect(matches.mock.calls.length).toBe(8);
      matches.mockClear();
    }
    matches.mockRestore();
  });

  it('are evaluated on the policy at the time of the decision, independent of earlier evaluations', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const may = (pattern: string) => [
      { resource: 'fs:*', actions: ['read'], constraints: { allowedArgPatterns: [pattern] } },
    ];
    const agent = await t.agent(owner, { permissions: may('/data/**') });
    const question = { action: 'read', resource: 'fs:x', arguments: { path: '/data/a' } };
    expect((await t.authorize(agent, question)).body.allowed).toBe(true);
    const [changed, ...answers] = await Promise.all([
      t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions: may('/etc/**') } }),
      ...Array.from({ length: 20 }, () => t.authorize(agent, question)),
    ]);
    expect(changed.status).toBe(200);
    // Every call after the first refusal is refused.
    const entries = (await t.call('GET', '/audit', { as: owner })).body;
    const results = entries.map((e: { result: string }) => e.result).reverse();
    expect(results.lastIndexOf('allowed')).toBeLessThan([...results, 'denied'].indexOf('denied'));
    expect(answers.every((r) => r.status === 200)).toBe(true);
    expect((await t.authorize(agent, question)).body.reason).toBe('ARGUMENTS_NOT_ALLOWED');
  });
});
