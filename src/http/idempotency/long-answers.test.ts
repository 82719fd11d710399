import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';

let t: TestService;
let alice: TestUser;
let large: TestAgent;
let count = 0;
const newKey = (): string => `key-${++count}`;
const post = (path: string, body: unknown, key: string, as: { token: string } = alice) =>
  t.call('POST', path, { as, body, headers: { 'idempotency-key': key } });

const SHORT = 65_536;
/** Entries of about the greatest length that fits a thousand of them into a body. */
const PADDING = 'x'.repeat(450);
const permissions = Array.from({ length: 999 }, (_, i) => ({
  resource: `files:${PADDING}:*`,
  actions: ['read', 'write "all"'],
  constraints: { maxCallsPerHour: i + 1, requireApproval: false },
}));
const question = { action: 'read', resource: `files:${PADDING}:a`, explain: true };

beforeAll(async () => {
  t = await createTestService({ lasting: true });
  alice = await t.user();
  large = await t.agent(alice, { permissions });
});

describe('an answer of more than 64 KB', () => {
  it('to the largest delegation is repeated, and there is one delegation', async () => {
    const toAgent = (await t.agent(alice)).id;
    const body = { fromAgent: large.id, toAgent, permissions };
    const key = newKey();
    const first = await post('/delegations', body, key);
    expect([first.status, first.text.length > 8 * SHORT]).toEqual([201, true]);
    const again = await post('/delegations', body, key);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(again.text).toBe(first.text);
    expect((await t.call('GET', `/delegations?toAgent=${toAgent}`, { as: alice })).body).toHaveLength(1);
    expect((await post('/delegations', body, key, await t.user())).status).toBe(404);
    expect((await post('/delegations', { ...body, maxDepth: 1 }, key)).body.error.code).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('to explained decisions is repeated, and each is counted once', async () => {
    for (const [path, body, decisions] of [
      ['/authorize', { agentId: large.id, ...question }, 1],
      ['/authorize/batch', { requests: Array.from({ length: 5 }, () => ({ agentId: large.id, ...question })) }, 5],
    ] as const) {
      const key = newKey();
      const audited = async (): Promise<number> =>
        (await t.call('GET', `/audit?agentId=${large.id}&limit=1000`, { as: alice })).body.length;
      const before = await audited();
      const first = await post(path, body, key);
      expect([first.status, first.text.length > decisions * SHORT]).toEqual([200, true]);
      const again = await post(path, body, key);
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
      expect(again.body).toEqual(first.body);
      expect((await audited()) - before).toBe(decisions);
    }
  });

  it('is not kept if it has more than 16 MB: the repetition is 409', async () => {
    // Six characters each in JSON.
    const control = (count: number): string => '\u0001'.repeat(count);
    const action = control(128);
    const called = await t.agent(alice, { permissions: [{ resource: '*', actions: [action] }] });
    const call = { agentId: called.id, action, resource: control(512) };
    for (let i = 0; i < 45; i++)
      await t.call('POST', '/authorize/batch', {
        as: alice,
        body: { requests: Array.from({ length: 100 }, () => call) },
      });
    const key = newKey();
    const replay = () => post(`/agents/${called.id}/permissions/replay`, { permissions: [] }, key);
    const first = await replay();
    expect([first.status, first.text.length > 16_777_216]).toEqual([200, true]);
    const again = await replay();
    expect([again.status, again.body.error.code]).toEqual([409, 'IDEMPOTENCY_ANSWER_GONE']);
  });
});
