import { beforeAll, describe, expect, it } from 'vitest';
import {
  createTestService,
  dialect,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { DAY_MS } from '../../kernel/clock.ts';

let t: TestService;
let alice: TestUser;
let bob: TestUser;
let agent: TestAgent;
let count = 0;
/** The address of a webhook at which no receiver listens. */
const config = { webhooks: { allowPrivateNetworks: true } };
const nowhere = 'http://127.0.0.1:1/';
const newKey = (): string => `key-${++count}`;
const question = { action: 'read', resource: 'files:a' };

const post = (
  path: string,
  body: unknown,
  key: string,
  { as = alice, on = t }: { as?: { token: string } | string; on?: TestService } = {},
) => on.call('POST', path, { as, body, headers: { 'idempotency-key': key } });

const audited = async (agentId: string): Promise<number> =>
  (await t.call('GET', `/audit?agentId=${agentId}&limit=1000`, { as: alice })).body.length;

const delegationBody = async (): Promise<Record<string, unknown>> => ({
  fromAgent: agent.id,
  toAgent: (await t.agent(alice)).id,
  permissions: [{ resource: 'files:a', actions: ['read'] }],
});

beforeAll(async () => {
  t = await createTestService({ lasting: true, config });
  alice = await t.user();
  bob = await t.user();
  agent = await t.agent(alice, { permissions: [{ resource: 'files:*', actions: ['*'] }] });
});

describe('a request that is sent again with its Idempotency-Key', () => {
  it('gets the same answer and has one effect', async () => {
    const body = await delegationBody();
    const key = newKey();
    const first = await post('/delegations', body, key);
    expect(first.status).toBe(201);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const again = await post('/delegations', body, key);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    const listed = await t.call('GET', `/delegations?toAgent=${body['toAgent']}`, { as: alice });
    expect(listed.body).toHaveLength(1);
  });

  it('is compared by the content of its body, regardless of the order of members', async () => {
    const key = newKey();
    const first = await post('/authorize', { agentId: agent.id, ...question, arguments: { a: 1, b: [2] } }, key);
    const again = await post('/authorize', { arguments: { b: [2], a: 1 }, ...question, agentId: agent.id }, key);
    expect(again.text).toBe(first.text);
    const other = await post('/authorize', { agentId: agent.id, ...question, arguments: { a: 1, b: [3] } }, key);
    expect([other.status, other.body.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  });

  it.each(['/delegations', '/authorize', '/authorize/batch', '/budgets'])(
    'is 422 for POST %s with another body',
    async (path) => {
      const key = newKey();
      const bodies: Record<string, [unknown, unknown]> = {
        '/delegations': [await delegationBody(), await delegationBody()],
        '/authorize': [
          { agentId: agent.id, ...question },
          { agentId: agent.id, ...question, action: 'write' },
        ],
        '/authorize/batch': [
          { requests: [{ agentId: agent.id, ...question }] },
          { requests: [{ agentId: agent.id, ...question, action: 'write' }] },
        ],
        '/budgets': [
          { agentId: agent.id, metric: 'calls', limit: 1e6, window: 'day', onExceed: 'notify' },
          { agentId: agent.id, metric: 'calls', limit: 2e6, window: 'day', onExceed: 'notify' },
        ],
      };
      const [one, other] = bodies[path] as [unknown, unknown];
      expect((await post(path, one, key)).status).toBeLessThan(300);
      const r = await post(path, other, key);
      expect([r.status, r.body.error.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
      expect((await post(path, one, key)).headers.get('idempotent-replayed')).toBe('true');
    },
  );

  it('is counted and recorded once when it is a decision', async () => {
    const capped = await t.agent(alice, {
      permissions: [{ resource: 'files:*', actions: ['read'], constraints: { maxCallsPerHour: 2 } }],
    });
    const ask = { agentId: capped.id, ...question };
    const key = newKey();
    const first = await post('/authorize', ask, key);
    expect(first.body).toEqual({ allowed: true, auditId: expect.stringMatching(/^aud_/) });
    for (let i = 0; i < 3; i++) expect((await post('/authorize', ask, key)).text).toBe(first.text);
    expect(await audited(capped.id)).toBe(1);
    const batchKey = newKey();
    const requests = [ask, ask, { ...ask, dryRun: true }, { ...ask, agentId: 'agt_unknown' }];
    const batch = await post('/authorize/batch', { requests }, batchKey);
    expect(batch.body.results.map((r: { allowed?: boolean }) => r.allowed)).toEqual([true, false, false, undefined]);
    const again = await post('/authorize/batch', { requests }, batchKey);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([batch.text, 'true']);
    expect(await audited(capped.id)).toBe(3);
  });

  it('counts once through AuthZEN too', async () => {
    const capped = await t.agent(alice, { permissions: [{ resource: 'files:*', actions: ['read'] }] });
    const one = {
      subject: { type: 'agent', id: capped.id },
      action: { name: 'read' },
      resource: { type: 'files', id: 'a' },
    };
    const key = newKey();
    const first = await post('/access/v1/evaluation', one, key);
    expect((await post('/access/v1/evaluation', one, key)).text).toBe(first.text);
    const two = { ...one, evaluations: [{}, { action: { name: 'write' } }, {}] };
    const options = { ...two, options: { evaluations_semantic: 'deny_on_first_deny' } };
    const several = newKey();
    const answers = await post('/access/v1/evaluations', options, several);
    expect((await post('/access/v1/evaluations', options, several)).text).toBe(answers.text);
    expect(await audited(capped.id)).toBe(3);
  });

  it('is a new request for another principal, for another path and after 24 hours', async () => {
    const service = await createTestService();
    const carol = await service.user();
    const dave = await service.user();
    const made = await service.agent(carol, { permissions: [{ resource: '*', actions: ['*'] }] });
    const ask = { agentId: made.id, ...question };
    const first = await post('/authorize', ask, 'k', { as: carol, on: service });
    const itself = await post('/authorize', ask, 'k', { as: made, on: service });
    expect([itself.status, itself.body.auditId === first.body.auditId]).toEqual([200, false]);
    expect((await post('/authorize', ask, 'k', { as: dave, on: service })).status).toBe(404);
    const batch = await post('/authorize/batch', { requests: [ask] }, 'k', { as: carol, on: service });
    expect(batch.body.results[0].auditId).not.toBe(first.body.auditId);
    service.clock.advance(DAY_MS - 1);
    expect((await post('/authorize', ask, 'k', { as: carol, on: service })).text).toBe(first.text);
    service.clock.advance(1);
    const later = await post('/authorize', { ...ask, action: 'write' }, 'k', { as: carol, on: service });
    expect([later.status, later.body.auditId === first.body.auditId]).toEqual([200, false]);
  });
});

describe('a stored answer', () => {
  it('never contains a secret: the repetition is 409 and has no effect', async () => {
    const body = { ownerId: alice.id, name: `once ${newKey()}`, type: 'autonomous' };
    const key = newKey();
    const first = await post('/agents', body, key);
    expect(first.status).toBe(201);
    const again = await post('/agents', body, key);
    expect([again.status, again.body.error.code]).toEqual([409, 'IDEMPOTENCY_SECRET_GONE']);
    const { database } = t.legate.platform;
    const kept = await database.read.selectFrom('idempotency_keys').selectAll().execute();
    expect(JSON.stringify(kept)).not.toContain(first.body.token.slice(4));
    const rotated = newKey();
    const token = (await post(`/agents/${first.body.id}/rotate`, undefined, rotated)).body.token;
    expect((await post(`/agents/${first.body.id}/rotate`, undefined, rotated)).status).toBe(409);
    expect((await t.call('GET', `/agents/${first.body.id}`, { as: token })).status).toBe(200);
  });

  it('can be a refusal, which is repeated even if its cause no longer exists', async () => {
    const other = await t.agent(alice);
    const body = { fromAgent: other.id, toAgent: agent.id, permissions: [{ resource: 'x:y', actions: ['read'] }] };
    const key = newKey();
    const refused = await post('/delegations', body, key);
    expect(refused.status).toBe(403);
    await t.call('PATCH', `/agents/${other.id}`, {
      as: alice,
      body: { permissions: [{ resource: 'x:y', actions: ['read'] }] },
    });
    const again = await post('/delegations', body, key);
    expect([again.status, again.text]).toEqual([403, refused.text]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await post('/delegations', body, newKey())).status).toBe(201);
    const invalid = newKey();
    expect((await post('/delegations', { nonsense: true }, invalid)).status).toBe(400);
    expect((await post('/delegations', { nonsense: true }, invalid)).headers.get('idempotent-replayed')).toBe('true');
    expect((await post('/delegations', body, invalid)).status).toBe(422);
  });

  it('can be a refusal of a draft that is too large, before any decision', async () => {
    const constraints = { allowedArgPatterns: Array.from({ length: 50 }, (_, i) => `/${i}/**`) };
    const permissions = Array.from({ length: 6 }, (_, i) => ({ resource: `fs:${i}`, actions: ['read'], constraints }));
    const draft = { agentId: agent.id, ...question, dryRun: true, permissions };
    for (const [path, body] of [
      ['/authorize', draft],
      ['/authorize/batch', { requests: [draft] }],
    ] as const) {
      const key = newKey();
      for (const replayed of [null, 'true']) {
        const r = await post(path, body, key);
        expect([r.status, r.body.error.code]).toEqual([422, 'POLICY_TOO_LARGE']);
        expect([path, r.headers.get('idempotent-replayed')]).toEqual([path, replayed]);
      }
    }
  });

  it('is never a 401, 409 or 429', async () => {
    const ended = await t.agent(alice);
    await t.call('DELETE', `/agents/${ended.id}`, { as: alice });
    const key = newKey();
    for (let i = 0; i < 2; i++) {
      const r = await post(`/agents/${ended.id}/rotate`, undefined, key);
      expect([r.status, r.headers.get('idempotent-replayed')]).toEqual([409, null]);
    }
    const email = `${newKey()}@example.com`;
    for (let i = 0; i < 2; i++) {
      const r = await t.call('POST', '/sign-in', {
        body: { email, password: 'wrong password' },
        headers: { 'idempotency-key': key },
      });
      expect([r.status, r.headers.get('idempotent-replayed')]).toEqual([401, null]);
    }
  });

  it('is deleted after 24 hours', async () => {
    const service = await createTestService();
    const carol = await service.user();
    const made = await service.agent(carol);
    for (const key of ['a', 'b'])
      await post('/authorize', { agentId: made.id, ...question }, key, { as: carol, on: service });
    const { platform } = service.legate;
    const rows = async () => [
      ...(await platform.database.read.selectFrom('idempotency_keys').selectAll().execute()),
      ...(await platform.database.read.selectFrom('kept_decisions').selectAll().execute()),
      ...(await platform.database.read.selectFrom('kept_decision_keys').selectAll().execute()),
    ];
    const { deleteExpiredAnswers } = await import('./store.ts');
    service.clock.advance(DAY_MS - 1);
    await deleteExpiredAnswers(platform);
    expect(await rows()).toHaveLength(2);
    service.clock.advance(1);
    await deleteExpiredAnswers(platform);
    expect(await rows()).toEqual([]);
  });
});

describe('rights and invalid keys', () => {
  it('are checked before a stored answer is returned', async () => {
    const made = await t.agent(alice, { permissions: [{ resource: 'files:*', actions: ['read'] }] });
    const ask = { agentId: made.id, ...question };
    const [own, asOwner] = [newKey(), newKey()];
    expect((await post('/authorize', ask, own, { as: made })).status).toBe(200);
    const token = await t.apiToken(alice.id);
    expect((await post('/authorize', ask, asOwner, { as: token })).status).toBe(200);
    await t.call('DELETE', `/agents/${made.id}`, { as: alice });
    expect((await post('/authorize', ask, own, { as: made })).status).toBe(401);
    await t.legate.platform.ledger.change({ kind: 'system', id: 'system' }, async (change) => {
      change.invalidate();
      await change.db.deleteFrom('api_tokens').where('user_id', '=', alice.id).where('name', '=', 'test').execute();
    });
    for (const path of ['/authorize', '/authorize/batch'])
      expect((await post(path, path === '/authorize' ? ask : { requests: [ask] }, asOwner, { as: token })).status).toBe(
        401,
      );
    alice = { ...alice, token: await t.apiToken(alice.id) };
    expect((await post('/authorize', ask, asOwner)).headers.get('idempotent-replayed')).toBe('true');
  });

  it('keys of other callers are separate', async () => {
    const key = newKey();
    const body = await delegationBody();
    expect((await post('/delegations', body, key)).status).toBe(201);
    expect((await post('/delegations', body, key, { as: bob })).status).toBe(404);
    expect((await post('/delegations', body, key, { as: agent })).status).toBe(201);
  });

  it.each([
    ['empty', ''],
    ['of 256 characters', 'k'.repeat(256)],
    ['of 1 MB', 'k'.repeat(1_000_000)],
  ])('%s: 400', async (_, key) => {
    const r = await post('/authorize', { agentId: agent.id, ...question }, key);
    expect([r.status, r.body.error.code]).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('keys of 255 characters are accepted, and GET, PATCH and OAuth endpoints ignore keys', async () => {
    const key = 'k'.repeat(255);
    expect((await post('/authorize', { agentId: agent.id, ...question }, key)).status).toBe(200);
    const headers = { 'idempotency-key': 'k'.repeat(300) };
    expect((await t.call('GET', `/agents/${agent.id}`, { as: alice, headers })).status).toBe(200);
    for (const name of ['one', 'two'])
      expect(
        (
          await t.call('PATCH', `/agents/${agent.id}`, {
            as: alice,
            body: { name },
            headers: { 'idempotency-key': 'p' },
          })
        ).body.name,
      ).toBe(name);
    const token = await t.call('POST', '/oauth/token', {
      raw: 'grant_type=x',
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(token.status).toBe(400);
    expect(token.body.error).toBe('unsupported_grant_type');
  });
});

describe('50 concurrent requests', () => {
  const kinds: [string, () => Promise<[path: string, body: unknown, effects: () => Promise<number>]>][] = [
    [
      'a capped decision',
      async () => {
        const capped = await t.agent(alice, {
          permissions: [{ resource: 'files:*', actions: ['read'], constraints: { maxCallsPerHour: 1 } }],
        });
        return ['/authorize', { agentId: capped.id, ...question }, () => audited(capped.id)];
      },
    ],
    [
      'an agent',
      async () => {
        const name = newKey();
        const agents = async () =>
          (await t.call('GET', '/agents?limit=1000', { as: alice })).body.filter(
            (a: { name: string }) => a.name === name,
          );
        return ['/agents', { ownerId: alice.id, name, type: 'autonomous' }, async () => (await agents()).length];
      },
    ],
    [
      'a delegation',
      async () => {
        const body = await delegationBody();
        const list = () => t.call('GET', `/delegations?toAgent=${body['toAgent']}`, { as: alice });
        return ['/delegations', body, async () => (await list()).body.length];
      },
    ],
    [
      'a webhook',
      async () => {
        const url = `https://example.com/${newKey()}`;
        const list = async () =>
          (await t.call('GET', '/webhooks', { as: alice })).body.filter((w: { url: string }) => w.url === url);
        return ['/webhooks', { url }, async () => (await list()).length];
      },
    ],
    [
      'a test message of a webhook',
      async () => {
        const made = await t.call('POST', '/webhooks', { as: alice, body: { url: nowhere } });
        const id = made.body?.id;
        const list = () => t.call('GET', `/webhooks/${id}/deliveries`, { as: alice });
        return [`/webhooks/${id}/test`, undefined, async () => (await list()).body.length];
      },
    ],
  ];

  it.each(kinds)('%s: have one effect', async (_, make) => {
    const instances = dialect === 'postgres' ? [t, await createTestService({ sameDatabaseAs: t, config })] : [t];
    const [path, body, effects] = await make();
    const key = newKey();
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        post(path, body, key, { on: instances[i % instances.length] as TestService }),
      ),
    );
    const made = all.filter((r) => r.status < 300);
    expect(made.length).toBeGreaterThanOrEqual(1);
    expect(new Set(made.map((r) => r.text)).size).toBe(1);
    expect(made.filter((r) => r.headers.get('idempotent-replayed') === null)).toHaveLength(1);
    for (const r of all.filter((r) => !made.includes(r))) {
      expect(['IDEMPOTENCY_IN_PROGRESS', 'IDEMPOTENCY_SECRET_GONE']).toContain(r.body.error.code);
      expect(r.status).toBe(409);
      if (r.body.error.code === 'IDEMPOTENCY_IN_PROGRESS') expect(r.headers.get('retry-after')).toBe('1');
    }
    expect(await effects()).toBe(1);
    expect((await post(path, body, key)).status).toBe(
      made[0]?.body?.token || made[0]?.body?.secret ? 409 : made[0]?.status,
    );
  });
});
