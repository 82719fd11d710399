import { describe, expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';

const t = await createTestService({ lasting: true });
const alice = await t.user();
const agent = await t.agent(alice, { permissions: [{ resource: 'files:*', actions: ['*'] }] });
const question = { action: 'read', resource: 'files:a' };
let count = 0;
const newKey = (): string => `key-${++count}`;
const post = (path: string, body: unknown, key: string) =>
  t.call('POST', path, { as: alice, body, headers: { 'idempotency-key': key } });
const audited = async (): Promise<number> =>
  (await t.call('GET', `/audit?agentId=${agent.id}&limit=1000`, { as: alice })).body.length;

describe('a request that is sent again with its Idempotency-Key', () => {
  it('is the request of its key, also after one with another body was refused', async () => {
    const ask = { agentId: agent.id, ...question };
    const evaluation = { subject: { type: 'agent', id: agent.id }, action: { name: 'read' } };
    const resource = { type: 'files', id: 'a' };
    const recorded = await audited();
    for (const [path, body, others] of [
      [
        '/authorize',
        ask,
        [
          { ...ask, agentId: 'agt_unknown' },
          { ...ask, action: 5 },
        ],
      ],
      [
        '/authorize/batch',
        { requests: [ask] },
        [{ requests: [] }, { requests: [{ ...ask, agentId: 'agt_unknown' }] }, { requests: [ask, ask] }],
      ],
      ['/access/v1/evaluation', { ...evaluation, resource }, [evaluation]],
    ] as const) {
      const key = newKey();
      const first = await post(path, body, key);
      expect(first.status).toBe(200);
      for (const other of others) {
        const r = await post(path, other, key);
        expect([path, other, r.status, r.body.error?.code]).toEqual([path, other, 422, 'IDEMPOTENCY_KEY_REUSED']);
      }
      const again = await post(path, body, key);
      expect([path, again.text, again.headers.get('idempotent-replayed')]).toEqual([path, first.text, 'true']);
    }
    expect(await audited()).toBe(recorded + 3);
  });

  it('gets the same answer when its decision was refused without a record', async () => {
    for (const [path, body] of [
      ['/authorize', { agentId: 'agt_unknown', ...question }],
      ['/authorize', { agentId: agent.id, action: 5, resource: 'files:a' }],
      ['/authorize/batch', { requests: [{ agentId: 'agt_unknown', ...question }] }],
      ['/access/v1/evaluation', { subject: 5 }],
    ] as const) {
      const key = newKey();
      const first = await post(path, body, key);
      expect(first.headers.get('idempotent-replayed')).toBeNull();
      const again = await post(path, body, key);
      expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([
        first.status,
        first.text,
        'true',
      ]);
    }
  });
});
