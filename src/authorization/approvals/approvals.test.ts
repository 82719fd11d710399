import { describe, expect, it } from 'vitest';
import { approve, ask, request, world } from '../../../test/support/approvals.ts';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService } from '../../../test/support/service.ts';
import type { World } from '../../../test/support/world.ts';
import type { Mail } from '../../kernel/mailer.ts';
import { approvals } from './index.ts';

describe('a decision that requires approval', () => {
  it('is denied with APPROVAL_REQUIRED and approvalId; when approved, the identical call is allowed once', async () => {
    const w = await world();
    const denied = await request(w);
    expect(denied).toEqual({
      allowed: false,
      auditId: expect.stringMatching(/^aud_/),
      reason: 'APPROVAL_REQUIRED',
      approvalId: expect.stringMatching(/^apr_/),
    });
    expect(await request(w)).toMatchObject({ allowed: false, approvalId: denied.approvalId });
    expect((await approve(w, denied.approvalId, w.owner, { note: 'go' })).status).toBe(200);
    const reordered = { ...ask, arguments: { password: 'hunter2-very-secret', amount: 10, to: 'acme' } };
    expect(await request(w, reordered)).toEqual({ allowed: true, auditId: expect.any(String) });
    const again = await request(w);
    expect(again.reason).toBe('APPROVAL_REQUIRED');
    expect(again.approvalId).not.toBe(denied.approvalId);
    const entries = await w.t.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['type', 'result', 'reason'])
      .orderBy('seq')
      .execute();
    expect(entries.filter((e) => e.type !== 'agent.created')).toEqual([
      { type: 'audit', result: 'denied', reason: 'APPROVAL_REQUIRED' },
      { type: 'approval.requested', result: null, reason: null },
      { type: 'audit', result: 'denied', reason: 'APPROVAL_REQUIRED' },
      { type: 'audit', result: 'allowed', reason: 'APPROVAL_GRANTED' },
      { type: 'approval.resolved', result: null, reason: null },
      { type: 'audit', result: 'allowed', reason: null },
      { type: 'audit', result: 'denied', reason: 'APPROVAL_REQUIRED' },
      { type: 'approval.requested', result: null, reason: null },
    ]);
    const seqs = (
      await w.t.legate.platform.database.read.selectFrom('stream_events').select('seq').orderBy('seq').execute()
    ).map((r) => r.seq);
    expect(seqs).toEqual(seqs.map((_, i) => i + 1));
    expect((await eventsOf(w.t)).find((e) => e.type === 'approval.resolved')?.data).toEqual({
      approvalId: denied.approvalId,
      agentId: w.agent.id,
      action: 'pay',
      resource: 'bank:transfer',
      status: 'approved',
    });
  });

  it('is bound to agent, action, resource and the exact arguments', async () => {
    const w = await world();
    const { approvalId } = await request(w);
    await approve(w, approvalId);
    for (const other of [
      { ...ask, arguments: { ...ask.arguments, amount: 11 } },
      { ...ask, arguments: { ...ask.arguments, amount: '10' } },
      { ...ask, arguments: { ...ask.arguments, more: null } },
      { ...ask, resource: 'bank:other' },
      { action: ask.action, resource: ask.resource },
    ])
      expect((await request(w, other)).reason).toBe('APPROVAL_REQUIRED');
    const twin = await w.t.agent(w.owner, { permissions: w.agent.body.permissions });
    expect((await w.t.authorize(twin, ask)).body.reason).toBe('APPROVAL_REQUIRED');
    expect((await request(w)).allowed).toBe(true);
  });

  it('exactly one of 50 parallel identical calls uses the approval; 50 parallel requests share one', async () => {
    const w = await world();
    const asked = await Promise.all(Array.from({ length: 50 }, () => request(w)));
    const ids = new Set(asked.map((a) => a.approvalId));
    expect(ids.size).toBe(1);
    await approve(w, [...ids][0]);
    const used = await Promise.all(Array.from({ length: 50 }, () => request(w)));
    expect(used.filter((a) => a.allowed)).toHaveLength(1);
    expect(new Set(used.filter((a) => !a.allowed).map((a) => a.approvalId)).size).toBe(1);
  });

  it('expires after approvals.ttl, whether pending or approved', async () => {
    const w = await world();
    const first = await request(w);
    w.t.clock.advance(299_999);
    expect((await request(w)).approvalId).toBe(first.approvalId);
    w.t.clock.advance(1);
    expect((await w.t.call('GET', `/approvals/${first.approvalId}`, { as: w.owner })).body.status).toBe('expired');
    expect([(await approve(w, first.approvalId)).status, (await approve(w, first.approvalId)).body.error.code]).toEqual(
      [409, 'APPROVAL_NOT_PENDING'],
    );
    const second = await request(w);
    expect(second.approvalId).not.toBe(first.approvalId);
    await approve(w, second.approvalId);
    w.t.clock.advance(300_000);
    expect((await request(w)).reason).toBe('APPROVAL_REQUIRED');
  });

  it('a dry run neither requests nor uses an approval', async () => {
    const w = await world();
    expect(await request(w, { ...ask, dryRun: true })).toEqual({ allowed: false, reason: 'APPROVAL_REQUIRED' });
    expect((await w.t.call('GET', '/approvals', { as: w.owner })).body).toEqual([]);
    const { approvalId } = await request(w);
    await approve(w, approvalId);
    expect(await request(w, { ...ask, dryRun: true })).toEqual({ allowed: true });
    const dryIn = (ms: number) =>
      request(w, { ...ask, dryRun: true, at: new Date(w.t.clock.now() + ms).toISOString() });
    expect([await dryIn(299_999), await dryIn(300_000)]).toEqual([
      { allowed: true },
      { allowed: false, reason: 'APPROVAL_REQUIRED' },
    ]);
    expect((await request(w)).allowed).toBe(true);
  });

  it('other conditions are reported first, and the cap is counted last', async () => {
    const w = await world({ maxCallsPerHour: 1, allowedArgPatterns: ['acme', 'hunter*'] });
    expect((await request(w, { ...ask, arguments: { to: 'evil' } })).reason).toBe('ARGUMENTS_NOT_ALLOWED');
    const { approvalId } = await request(w);
    await approve(w, approvalId);
    expect((await request(w)).allowed).toBe(true);
    const next = await request(w);
    expect(next.reason).toBe('APPROVAL_REQUIRED');
    await approve(w, next.approvalId);
    expect((await request(w)).reason).toBe('RATE_LIMITED');
  });

  it('through a chain, one approval of the call satisfies every link', async () => {
    const w = await world();
    const child = await w.t.agent(w.owner);
    await w.t.call('POST', '/delegations', {
      as: w.owner,
      body: { fromAgent: w.agent.id, toAgent: child.id, permissions: [{ resource: 'bank:*', actions: ['pay'] }] },
    });
    const asked = (await w.t.authorize(child, ask)).body;
    expect(asked.reason).toBe('APPROVAL_REQUIRED');
    await approve(w, asked.approvalId);
    expect((await w.t.authorize(child, ask)).body.allowed).toBe(true);
    expect((await w.t.authorize(child, ask)).body.allowed).toBe(false);
  });
});

describe('when an agent is revoked', () => {
  it.each([
    ['DELETE /agents/:id', (w: World) => ['DELETE', `/agents/${w.agent.id}`]],
    ['POST /agents/revoke', (w: World) => ['POST', '/agents/revoke', { agentIds: [w.agent.id] }]],
    ['DELETE /users/:id', (w: World) => ['DELETE', `/users/${w.owner.id}`]],
  ] as const)(
    'by %s, its waiting and its unused approvals expire with it, as the preview shows',
    async (_, requestOf) => {
      const w = await world();
      const { t } = w;
      const [admin, stranger] = [await t.admin(), await t.user()];
      const other = await t.agent(stranger, { permissions: w.agent.body.permissions });
      const kept = (await t.authorize(other, ask)).body.approvalId;
      const [first, second, approved] = [
        (await request(w)).approvalId,
        (await request(w, { ...ask, resource: 'bank:b' })).approvalId,
        (await request(w, { ...ask, resource: 'bank:c' })).approvalId,
      ];
      await approve(w, approved);
      const [method, path, body] = requestOf(w) as [string, string, object?];
      const send = (address: string) => t.call(method, address, { as: admin, ...(body ? { body } : {}) });
      const isResolution = ({ type }: { type: string }): boolean => type === 'approval.resolved';
      const shown = (await send(`${path}?preview=true`)).body;
      expect(shown.approvals).toBe(2);
      expect((await t.call('GET', '/approvals?status=pending', { as: admin })).body).toHaveLength(3);
      expect((await send(path)).status).toBe(204);
      const ended = [first, second, approved].map((approvalId, i) => ({
        type: 'approval.resolved',
        agentId: w.agent.id,
        userId: w.owner.id,
        data: {
          approvalId,
          agentId: w.agent.id,
          action: 'pay',
          resource: ['bank:transfer', 'bank:b', 'bank:c'][i],
          status: 'expired',
        },
        before: { status: approvalId === approved ? 'approved' : 'pending' },
        after: { status: 'expired' },
        actor: expect.objectContaining({ kind: 'apiToken', userId: admin.id }),
      }));
      expect(shown.events.filter(isResolution)).toEqual(ended);
      const changes = (await t.call('GET', `/changes?subject=${w.agent.id}`, { as: admin })).body;
      expect(changes.filter(isResolution).slice(0, 3).reverse()).toEqual(
        ended.map((event) => expect.objectContaining(event)),
      );
      expect((await t.call('GET', '/approvals?status=approved', { as: admin })).body).toEqual([]);
      for (const id of [first, second, approved]) {
        const r = await approve(w, id, admin);
        expect([r.status, r.body.error.code]).toEqual([409, 'APPROVAL_NOT_PENDING']);
        expect((await approve(w, id, stranger)).status).toBe(404);
        expect((await t.call('GET', `/approvals/${id}`, { as: admin })).body.status).toBe('expired');
      }
      const entries = (await t.call('GET', `/audit?agentId=${w.agent.id}&actions=expire`, { as: admin })).body;
      expect(entries.map((e: { reason: string }) => e.reason)).toEqual(Array(3).fill('APPROVAL_EXPIRED'));
      expect((await t.call('GET', '/approvals?status=pending', { as: admin })).body).toMatchObject([{ id: kept }]);
      t.clock.advance(300_000);
      await approvals.upkeep?.(t.legate.platform);
      const resolved = (await eventsOf(t, w.agent.id)).filter((e) => isResolution(e) && e.data.status === 'expired');
      expect(resolved.map((e) => e.data.approvalId)).toEqual([first, second, approved]);
    },
  );
});

describe('onApprovalRequested', () => {
  it('is called once for each pending call, after it is recorded; its errors have no effect', async () => {
    const told: { id: string; status: string }[] = [];
    const t = await createTestService({
      onApprovalRequested: async (approval) => {
        told.push(approval);
        throw new Error('the pager is down');
      },
    });
    const owner = await t.user();
    const agent = await t.agent(owner, {
      permissions: [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }],
    });
    const { approvalId } = (await t.authorize(agent, ask)).body;
    await t.authorize(agent, ask);
    await expect.poll(() => told.map((a) => [a.id, a.status])).toEqual([[approvalId, 'pending']]);
  });
});

describe('approvals.mail', () => {
  const mailed = async (mail: boolean | undefined) => {
    const mails: Mail[] = [];
    const t = await createTestService({
      printMail: (sent) => void mails.push(sent),
      config: { ...(mail === undefined ? {} : { approvals: { mail } }) },
    });
    const owner = await t.user();
    const agent = await t.agent(owner, {
      name: 'payer\u202e',
      permissions: [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }],
    });
    const { approvalId } = (await t.authorize(agent, ask)).body;
    await t.authorize(agent, ask);
    return { t, owner, mails, approvalId };
  };

  it('sends the owner one mail for a waiting call, with a link to its page and no credential', async () => {
    const { owner, mails, approvalId } = await mailed(undefined);
    await expect.poll(() => mails.map((m) => m.to)).toEqual([owner.email]);
    const [mail] = mails;
    expect(new URL(mail?.link as string).pathname + new URL(mail?.link as string).search).toBe(
      `/account/approvals/${approvalId}`,
    );
    expect(mail?.subject).toMatch(/^Agent "payerU\+202E" is waiting for your approval at /);
    expect(mail?.text).toContain('"payerU+202E" asks to pay bank:transfer');
  });

  it('is in the language in which the owner signed in last', async () => {
    const mails: Mail[] = [];
    const t = await createTestService({ printMail: (sent) => void mails.push(sent) });
    const { body } = await t.call('POST', '/sign-up', {
      headers: { 'accept-language': 'de' },
      body: { email: 'ana@example.com', password: 'correct horse battery' },
    });
    const permissions = [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }];
    await t.authorize(await t.agent({ ...body.user, token: body.token }, { name: 'payer', permissions }), ask);
    await expect
      .poll(() => mails.map((m) => m.subject))
      .toEqual([expect.stringMatching(/^Agent „payer“ wartet bei .* auf Ihre Freigabe$/)]);
    expect(mails[0]?.text).toContain(mails[0]?.link);
  });

  it('sends no mail if the option is off', async () => {
    const { t, mails } = await mailed(false);
    await t.legate.close();
    expect(mails).toEqual([]);
  });
});

describe('POST /approvals/:id/approve and /deny', () => {
  it('200 with the approval; a denied call stays refused', async () => {
    const w = await world();
    const { approvalId, auditId } = await request(w);
    const r = await w.t.call('POST', `/approvals/${approvalId}/deny`, { as: w.owner, body: { note: 'too much' } });
    expect([r.status, r.body]).toEqual([
      200,
      {
        id: approvalId,
        agentId: w.agent.id,
        action: 'pay',
        resource: 'bank:transfer',
        arguments: { to: 'acme', amount: 10, password: '[REDACTED]' },
        status: 'denied',
        auditId,
        createdAt: '2030-01-15T10:10:00.000Z',
        expiresAt: '2030-01-15T10:15:00.000Z',
        resolvedAt: '2030-01-15T10:10:00.000Z',
        resolvedBy: w.owner.id,
        note: 'too much',
      },
    ]);
    expect((await request(w)).reason).toBe('APPROVAL_REQUIRED');
    expect((await approve(w, approvalId)).status).toBe(409);
  });

  it('only one of 50 parallel decisions counts', async () => {
    const w = await world();
    const { approvalId } = await request(w);
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        w.t.call('POST', `/approvals/${approvalId}/${i % 2 ? 'approve' : 'deny'}`, { as: w.owner }),
      ),
    );
    expect(all.filter((r) => r.status === 200)).toHaveLength(1);
    expect(all.filter((r) => r.status === 409)).toHaveLength(49);
  });

  it('401, 403 for agents and narrowed tokens, 404 for others and unknown ids, 400 for an invalid note', async () => {
    const w = await world();
    const { approvalId } = await request(w);
    expect((await w.t.call('POST', `/approvals/${approvalId}/approve`)).status).toBe(401);
    expect((await approve(w, approvalId, w.agent)).status).toBe(403);
    const gateway = await w.t.agent(w.owner, { permissions: [{ resource: 'legate:*', actions: ['*'] }] });
    expect((await approve(w, approvalId, gateway)).status).toBe(403);
    expect((await approve(w, approvalId, { token: await w.t.apiToken(w.owner.id, ['agents:write']) })).status).toBe(
      403,
    );
    expect((await approve(w, approvalId, await w.t.user())).status).toBe(404);
    expect((await approve(w, 'apr_00000000000000000000000000')).status).toBe(404);
    expect((await approve(w, '%00')).status).toBe(404);
    expect((await approve(w, approvalId, w.owner, { note: 1 })).status).toBe(400);
    expect((await approve(w, approvalId, w.owner, { notes: 'x' })).status).toBe(400);
    expect((await approve(w, approvalId, await w.t.admin())).status).toBe(200);
  });
});

describe('GET /approvals and GET /approvals/:id', () => {
  it('200 newest first, by status; an agent sees its own approvals, other users none', async () => {
    const w = await world();
    const first = (await request(w)).approvalId;
    w.t.clock.advance(1000);
    const second = (await request(w, { ...ask, resource: 'bank:b' })).approvalId;
    await approve(w, first);
    const ids = async (query: string, as: { token: string }) =>
      (await w.t.call('GET', `/approvals${query}`, { as })).body.map((a: { id: string }) => a.id);
    expect(await ids('', w.owner)).toEqual([second, first]);
    expect(await ids('?status=pending', w.owner)).toEqual([second]);
    expect(await ids('?status=approved', w.agent)).toEqual([first]);
    expect(await ids('', await w.t.user())).toEqual([]);
    expect(await ids('', await w.t.admin())).toEqual([second, first]);
    expect((await w.t.call('GET', '/approvals?status=nonsense', { as: w.owner })).status).toBe(400);
    expect((await w.t.call('GET', `/approvals/${first}`, { as: w.agent })).body.status).toBe('approved');
    expect((await w.t.call('GET', `/approvals/${first}`, { as: await w.t.user() })).status).toBe(404);
  });

  it('sort=expiresAt: what expires first comes first on every page; a cursor belongs to its order', async () => {
    const w = await world();
    const asked: string[] = [];
    for (const n of [0, 1, 2, 3, 4]) {
      // The last two expire at the same moment.
      if (n < 4) w.t.clock.advance(1000);
      asked.push((await request(w, { ...ask, resource: `bank:${n}` })).approvalId);
    }
    w.t.clock.advance(1000);
    // An approved call expires later than it would have as a waiting one.
    await approve(w, asked[1] as string);
    const page = async (query: string) => {
      const response = await w.t.call('GET', `/approvals?limit=2&${query}`, { as: w.owner });
      return { ...response, next: /cursor=([^&>]+)/.exec(response.headers.get('link') ?? '')?.[1] };
    };
    const everyPage = async (query: string): Promise<string[]> => {
      const ids: string[] = [];
      for (let next: string | undefined = ''; next !== undefined; ) {
        const answer = await page(`${query}${next && `&cursor=${next}`}`);
        expect(answer.status).toBe(200);
        ids.push(...answer.body.map((a: { id: string }) => a.id));
        next = answer.next;
      }
      return ids;
    };
    const [first, second, third, ...last] = asked as [string, string, string, string, string];
    expect(await everyPage('sort=expiresAt&status=pending')).toEqual([first, third, ...last.toSorted()]);
    expect(await everyPage('sort=expiresAt')).toEqual([first, third, ...last.toSorted(), second]);
    expect(await everyPage('sort=-createdAt')).toEqual(await everyPage(''));

    const [byAge, byExpiry] = [(await page('')).next, (await page('sort=expiresAt')).next];
    const own = (text: string): string => Buffer.from(text).toString('base64url');
    for (const query of [
      'sort=createdAt',
      `sort=expiresAt&cursor=${byAge}`,
      `cursor=${byExpiry}`,
      `sort=expiresAt&cursor=${own('expiresAt 1.5 agt_1')}`,
      `sort=expiresAt&cursor=${own(`expiresAt x ${first}`)}`,
      `sort=expiresAt&cursor=${own(`expiresAt 1 ${first} 2`)}`,
    ])
      expect((await page(query)).status, query).toBe(400);
  });
});
