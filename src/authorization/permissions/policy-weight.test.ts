import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';

let t: TestService;
let owner: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
});

const entry = (i: number, constraints?: object): Json => ({
  resource: `fs:${i}`,
  actions: ['read'],
  ...(constraints ? { constraints } : {}),
});
const entries = (n: number, constraints: (i: number) => object | undefined): Json[] =>
  Array.from({ length: n }, (_, i) => entry(i, constraints(i)));
const patterns = (n: number, chars: number): string[] =>
  Array.from({ length: n }, (_, i) => `${i}/`.padEnd(chars, 'ü'));
const addresses = (n: number, i: number): string[] => Array.from({ length: n }, (_, j) => `10.0.${i}.${j}`);

const WITHIN: [name: string, permissions: Json[]][] = [
  ['1,000 entries with a condition each', entries(1000, () => ({ timeWindow: { start: '09:00', end: '17:00' } }))],
  ['1,000 entries with an address each', entries(1000, () => ({ ipAllowlist: ['192.0.2.1'] }))],
  ['256 argument patterns', entries(64, () => ({ allowedArgPatterns: patterns(4, 20) }))],
];
const BEYOND: [bound: string, found: number, permissions: Json[]][] = [
  [
    'argumentPatterns',
    257,
    [...entries(64, () => ({ allowedArgPatterns: patterns(4, 9) })), entry(64, { allowedArgPatterns: ['x'] })],
  ],
  ['argumentPatternBytes', 69_264, entries(4, () => ({ allowedArgPatterns: patterns(34, 256) }))],
  ['addressRanges', 1100, entries(11, (i) => ({ ipAllowlist: addresses(100, i) }))],
];

const body = (permissions: Json[]): Json => ({ ownerId: owner.id, name: 'a', type: 'service', permissions });

describe('the size of one policy', () => {
  it.each(WITHIN)('201: %s', async (_, permissions) => {
    expect((await t.call('POST', '/agents', { as: owner, body: body(permissions) })).status).toBe(201);
  });

  it.each(BEYOND)(
    '422 POLICY_TOO_LARGE: %s, at creation, in a change and in a delegation',
    async (bound, found, permissions) => {
      const refused = [422, { code: 'POLICY_TOO_LARGE', details: { bound, limit: expect.any(Number), found } }];
      const created = await t.call('POST', '/agents', { as: owner, body: body(permissions) });
      expect([created.status, created.body.error]).toMatchObject(refused);

      const [agent, other] = [
        await t.agent(owner, { permissions: [{ resource: '*', actions: ['*'] }] }),
        await t.agent(owner),
      ];
      const changed = await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions } });
      expect([changed.status, changed.body.error]).toMatchObject(refused);
      expect((await t.call('GET', `/agents/${agent.id}`, { as: owner })).body.permissions).toEqual([
        { resource: '*', actions: ['*'] },
      ]);

      const delegated = await t.call('POST', '/delegations', {
        as: owner,
        body: { fromAgent: agent.id, toAgent: other.id, permissions, expiresAt: '2031-01-01T00:00:00.000Z' },
      });
      expect([delegated.status, delegated.body.error]).toMatchObject(refused);
      expect((await t.call('GET', '/delegations', { as: owner })).body).toEqual([]);
    },
  );
});

describe('the cost of matching the arguments of one question', () => {
  const wide = patterns(50, 32).map((p) => `${p}**`);

  it('ARGUMENTS_NOT_ALLOWED beyond the limit; allowed with fewer arguments or through another entry', async () => {
    const agent = await t.agent(owner, {
      permissions: [
        { resource: 'fs:*', actions: ['read'], constraints: { allowedArgPatterns: [...wide.slice(1), '/data/**'] } },
        { resource: 'fs:x', actions: ['read'], constraints: { allowedArgPatterns: ['/data/**'] } },
      ],
    });
    const ask = async (chars: number, resource: string) => {
      const path = `/data/${'x'.repeat(chars)}`;
      const { body } = await t.authorize(agent, { action: 'read', resource, arguments: { path } });
      return body.allowed || body.reason;
    };
    expect(await ask(60_000, 'fs:y')).toBe('ARGUMENTS_NOT_ALLOWED');
    expect(await ask(10_000, 'fs:y')).toBe(true);
    expect(await ask(30_000, 'fs:x')).toBe(true);
  });

  it('the answer does not depend on earlier questions, nor on a batch, and explain agrees', async () => {
    const permissions = Array.from({ length: 5 }, (_, i) => ({
      resource: `fs:${i === 4 ? '*' : 'x'}`,
      actions: ['read'],
      constraints: { allowedArgPatterns: [...wide.slice(0, 20), i === 4 ? '/data/**' : `/${i}`] },
    }));
    const agent = await t.agent(owner, { permissions });
    const path = `/data/${'x'.repeat(25_000)}`;
    const question = (resource: string) => ({ action: 'read', resource, arguments: { path } });
    const want = { 'fs:x': 'ARGUMENTS_NOT_ALLOWED', 'fs:y': true };
    for (const [resource, answer] of Object.entries(want)) {
      const { body } = await t.authorize(agent, { ...question(resource), explain: true });
      expect([body.allowed || body.reason, body.trace.entries.some((e: Json) => e.outcome === 'allowed')]).toEqual([
        answer,
        body.allowed,
      ]);
    }
    const requests = ['fs:x', 'fs:y', 'fs:x', 'fs:y'].map(question);
    const { results } = (await t.call('POST', '/authorize/batch', { as: agent, body: { requests } })).body;
    expect(results.map((r: Json) => r.allowed || r.reason)).toEqual(
      requests.map((r) => want[r.resource as keyof typeof want]),
    );
  });
});
