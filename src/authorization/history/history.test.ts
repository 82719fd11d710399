import { describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestAgent, type TestUser } from '../../../test/support/service.ts';

const t = await createTestService({ lasting: true });
const owner = await t.user();
const stranger = await t.user();
const admin = await t.admin();

const read = [{ resource: 'db:*', actions: ['read'] }];
const write = [{ resource: 'db:*', actions: ['read', 'write'] }];
const historyOf = (id: string, as: { token: string } = owner, query = '') =>
  t.call('GET', `/${id.startsWith('agt_') ? 'agents' : 'delegations'}/${id}/history${query}`, { as });
const update = (agent: TestAgent, body: Json, as: TestUser = owner) =>
  t.call('PATCH', `/agents/${agent.id}`, { as, body });
const changes = async (query: string, as: { token: string } = owner): Promise<Json> =>
  (await t.call('GET', `/changes?${query}`, { as })).body;

describe('GET /agents/:id/history', () => {
  it('lists versions newest first, with actor, reason and the fields that changed', async () => {
    const agent = await t.agent(owner, { permissions: read, metadata: { apiKey: 'sk-secret', team: 'a' } });
    await update(agent, { permissions: write, reason: 'ticket 12' }, admin);
    await update(agent, { name: 'renamed' });
    await t.call('POST', `/agents/${agent.id}/rotate`, { as: owner, body: { reason: 'leaked' } });
    await t.call('DELETE', `/agents/${agent.id}?reason=retired`, { as: owner });
    const { body } = await historyOf(agent.id);
    expect(body.map((v: Json) => [v.version, v.type, v.reason])).toEqual([
      [5, 'agent.revoked', 'retired'],
      [4, 'agent.rotated', 'leaked'],
      [3, 'agent.updated', undefined],
      [2, 'agent.updated', 'ticket 12'],
      [1, 'agent.created', undefined],
    ]);
    const [revoked, rotated, renamed, permitted, created] = body;
    expect(revoked).toMatchObject({ before: { status: 'active' }, after: { status: 'revoked' } });
    expect([rotated.before, rotated.after]).toEqual([{}, {}]);
    expect([renamed.before, renamed.after]).toEqual([{ name: 'agent' }, { name: 'renamed' }]);
    expect(permitted).toEqual({
      version: 2,
      seq: expect.any(Number),
      at: '2030-01-15T10:10:00.000Z',
      type: 'agent.updated',
      actor: { kind: 'apiToken', id: expect.stringMatching(/^tok_/), userId: admin.id, ip: '192.0.2.1' },
      reason: 'ticket 12',
      before: { permissions: read },
      after: { permissions: write },
    });
    expect(created.before).toEqual({});
    expect(created.after).toMatchObject({ permissions: read, metadata: { apiKey: '[REDACTED]', team: 'a' } });
    expect(JSON.stringify(body)).not.toContain('lgt_');
  });

  it('shows what changed when the owner is suspended and reinstated', async () => {
    const person = await t.user();
    const agent = await t.agent(person, { permissions: read });
    for (const status of ['suspended', 'active'])
      await t.call('PATCH', `/users/${person.id}`, { as: admin, body: { status } });
    const { body } = await historyOf(agent.id, admin);
    expect(body.map((v: Json) => [v.version, v.type, v.before, v.after])).toEqual([
      [3, null, { ownerSuspended: true }, { ownerSuspended: false }],
      [2, null, { ownerSuspended: false }, { ownerSuspended: true }],
      [1, 'agent.created', {}, expect.objectContaining({ permissions: read })],
    ]);
  });

  it('pages, refuses a cursor of another agent, and hides the addresses of people from the agent', async () => {
    const agent = await t.agent(owner, { permissions: read });
    for (const permissions of [write, read, write]) await update(agent, { permissions });
    const first = await historyOf(agent.id, agent, '?limit=2');
    expect(first.body.map((v: Json) => v.version)).toEqual([4, 3]);
    expect(first.body[0].actor).not.toHaveProperty('ip');
    const cursor = /cursor=([^>&]+)/.exec(first.headers.get('link') ?? '')?.[1] as string;
    const second = await historyOf(agent.id, agent, `?limit=2&cursor=${cursor}`);
    expect(second.body.map((v: Json) => [v.version, v.before])).toEqual([
      [2, { permissions: read }],
      [1, {}],
    ]);
    expect(second.headers.get('link')).toBeNull();
    const other = await t.agent(owner);
    expect((await historyOf(other.id, owner, `?cursor=${cursor}`)).status).toBe(400);
    expect((await historyOf(agent.id, stranger)).status).toBe(404);
    expect((await historyOf('agt_00000000000000000000000000')).status).toBe(404);
  });
});

describe('GET /delegations/:id/history', () => {
  it('shows the expiry of a delegation, and the earlier expiry that results for those derived from it', async () => {
    const [a, b, c] = [await t.agent(owner, { permissions: read }), await t.agent(owner), await t.agent(owner)];
    const expiresAt = '2030-01-15T12:00:00.000Z';
    const delegate = async (from: TestAgent, to: TestAgent, more: object = {}): Promise<string> => {
      const body = { fromAgent: from.id, toAgent: to.id, permissions: read, ...more };
      return (await t.call('POST', '/delegations', { as: owner, body })).body.id;
    };
    const long = await delegate(a, b);
    const short = await delegate(a, b, { expiresAt });
    const below = await delegate(b, c);
    await t.call('DELETE', `/delegations/${long}?reason=too%20wide`, { as: owner });
    expect((await historyOf(long)).body[0]).toMatchObject({
      version: 2,
      type: 'delegation.revoked',
      reason: 'too wide',
      before: { status: 'active' },
      after: { status: 'revoked' },
    });
    expect((await historyOf(below)).body[0]).toMatchObject({
      version: 2,
      type: null,
      reason: 'too wide',
      before: { endsAt: null },
      after: { endsAt: expiresAt },
    });
    expect((await historyOf(short)).body).toHaveLength(1);
    expect((await historyOf(long, stranger)).status).toBe(404);
    expect((await historyOf('dlg_00000000000000000000000000', admin)).status).toBe(404);
  });
});

describe('reason', () => {
  it('is in the event of every kind of change, and refused beyond 500 characters', async () => {
    const agent = await t.agent(owner);
    const hook = await t.call('POST', '/webhooks', {
      as: owner,
      body: { url: 'https://hooks.example.com/in', types: ['audit'], reason: 'first hook' },
    });
    expect(hook.status).toBe(201);
    expect(hook.body).not.toHaveProperty('reason');
    await t.call('DELETE', `/webhooks/${hook.body.id}?reason=no%20longer%20used`, { as: owner });
    const reasons = (await changes(`subject=${hook.body.id}`)).map((c: Json) => [c.type, c.actor.reason]);
    expect(reasons).toEqual([
      ['webhook.deleted', 'no longer used'],
      ['webhook.created', 'first hook'],
    ]);
    for (const reason of ['x'.repeat(501), '']) {
      const refused = await update(agent, { name: 'x', reason });
      expect([refused.status, refused.body.error.details.issues[0].path]).toEqual([400, 'reason']);
      const ended = await t.call('DELETE', `/agents/${agent.id}?reason=${reason}`, { as: owner });
      expect(ended.status).toBe(400);
    }
    expect((await update(agent, { name: 'x', reason: 'x'.repeat(500) })).status).toBe(200);
    const asked = { agentId: agent.id, action: 'read', resource: 'db:x', reason: 'why' };
    expect((await t.call('POST', '/authorize', { as: owner, body: asked })).status).toBe(400);
  });

  it('is optional on endpoints without other fields, as is the body', async () => {
    const agent = await t.agent(owner);
    const rotate = (o: object) => t.call('POST', `/agents/${agent.id}/rotate`, { as: owner, ...o });
    expect((await rotate({})).status).toBe(200);
    expect((await rotate({ raw: '', headers: { 'content-type': 'application/x-www-form-urlencoded' } })).status).toBe(
      200,
    );
    expect((await rotate({ raw: '', headers: { 'content-type': 'application/json' } })).status).toBe(200);
    expect((await rotate({ body: {} })).status).toBe(200);
  });

  it('can be given in process, together with the user', async () => {
    const agent = await t.agent(owner, { permissions: read });
    await t.legate.as({ userId: owner.id, reason: 'nightly' }).agents.update(agent.id, { permissions: write });
    await t.legate.as({ reason: 'clean-up' }).agents.revoke(agent.id);
    const { versions } = await t.legate.agents.history(agent.id);
    expect(versions.map((v) => [v.reason, v.actor])).toEqual([
      ['clean-up', { kind: 'application', id: 'application' }],
      ['nightly', { kind: 'application', id: 'application', userId: owner.id }],
      [undefined, expect.anything()],
    ]);
    expect(() => t.legate.as({ reason: 'x'.repeat(501) })).toThrow();
  });
});

describe('GET /changes', () => {
  it('filters by subject, actor, type and time, newest first, among the changes that the caller may see', async () => {
    const agent = await t.agent(owner, { permissions: read });
    t.clock.advance(1000);
    const since = new Date(t.clock.now()).toISOString();
    await update(agent, { permissions: write }, admin);
    const other = await t.agent(stranger);
    const types = async (query: string, as?: { token: string }) => (await changes(query, as)).map((c: Json) => c.type);
    expect(await types(`subject=${agent.id}`)).toEqual(['agent.updated', 'agent.created']);
    expect(await types(`subject=${agent.id}&type=agent.created`)).toEqual(['agent.created']);
    expect(await types(`subject=${agent.id}&since=${since}`)).toEqual(['agent.updated']);
    expect(await types(`subject=${agent.id}&until=${since}`)).toEqual(['agent.created']);
    const [{ actor }] = await changes(`subject=${agent.id}&limit=1`);
    expect(actor.userId).toBe(admin.id);
    expect(await types(`actor=${actor.id}&subject=${agent.id}`)).toEqual(['agent.updated']);
    expect(await types(`actor=${actor.id}`, stranger)).toEqual([]);
    expect(await types(`subject=${other.id}`)).toEqual([]);
    expect(await types(`subject=${other.id}`, admin)).toEqual(['agent.created']);
    expect((await changes('limit=1000', agent)).every((c: Json) => c.agentId === agent.id)).toBe(true);
    const { changes: inProcess } = await t.legate.changes.list({ subject: agent.id });
    expect(inProcess).toEqual(await changes(`subject=${agent.id}`));
  });

  it('matches any of several values of a filter, and lists each change once', async () => {
    const [from, to] = [await t.agent(owner, { permissions: read }), await t.agent(owner)];
    const both = { fromAgent: from.id, toAgent: to.id };
    const { body } = await t.call('POST', '/delegations', { as: owner, body: { ...both, permissions: read } });
    await update(from, { name: 'renamed' }, admin);
    const subjects = `subject=${from.id}&subject=${to.id}&subject=${body.id}`;
    const found = await changes(subjects);
    expect(found.map((c: Json) => [c.type, c.data.agentId ?? c.data.delegationId])).toEqual([
      ['agent.updated', from.id],
      ['delegation.created', body.id],
      ['agent.created', to.id],
      ['agent.created', from.id],
    ]);
    expect(await changes(`${subjects}&type=delegation.created&type=agent.updated`)).toEqual(found.slice(0, 2));
    const [byAdmin, byOwner] = found.map((c: Json) => c.actor.id);
    expect(await changes(`${subjects}&actor=${byAdmin}&actor=${byOwner}`)).toEqual(found);
    expect(await changes(`${subjects}&actor=${byAdmin}&actor=usr_nobody`)).toEqual(found.slice(0, 1));
    const pages: Json[] = [];
    let next: string | undefined = `/changes?${subjects}&limit=1`;
    while (next !== undefined) {
      const page = await t.call('GET', next, { as: owner });
      pages.push(...page.body);
      next = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
    }
    expect(pages).toEqual(found);
    const inProcess = await t.legate.changes.list({ subject: [from.id, to.id], type: 'delegation.created' });
    expect(inProcess.changes).toEqual([found[1]]);
    const many = Array.from({ length: 51 }, (_, i) => `subject=agt_${i}`).join('&');
    expect((await t.call('GET', `/changes?${many}`, { as: owner })).status).toBe(400);
  });

  it('pages, and answers 400 for an invalid query', async () => {
    const agent = await t.agent(owner, { permissions: read });
    for (const permissions of [write, read]) await update(agent, { permissions });
    const query = `subject=${agent.id}&limit=2`;
    const first = await t.call('GET', `/changes?${query}`, { as: owner });
    expect(first.body).toHaveLength(2);
    const cursor = /cursor=([^>&]+)/.exec(first.headers.get('link') ?? '')?.[1] as string;
    expect(await changes(`${query}&cursor=${cursor}`)).toHaveLength(1);
    for (const bad of [
      `subject=${agent.id}&type=agent.created&cursor=${cursor}`,
      'type=agent.exploded',
      'type=',
      'since=yesterday',
      'since=2030-02-01&until=2030-01-01',
      'limit=0',
      'cursor=x',
      'nobody=1',
    ])
      expect((await t.call('GET', `/changes?${bad}`, { as: owner })).status, bad).toBe(400);
  });
});
