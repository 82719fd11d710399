import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';
import { chunk } from '../../kernel/chunk.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { secretHash } from '../../kernel/secrets.ts';

/** More agents than are read for one answer. Each delegates its own resource. */
const SOURCES = 1100;
const WIDTH = 40;

let t: TestService;
let owner: TestUser;
let target: Json;

/** The limits on delegations do not permit this graph, but a database may contain it from earlier. */
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  target = await t.agent(owner, { permissions: [{ resource: 'own', actions: ['read'] }] });
  await t.legate.platform.ledger.change(SYSTEM, async ({ db, now, epoch, invalidate }) => {
    const base = await db.selectFrom('agents').selectAll().where('id', '=', target.id).executeTakeFirstOrThrow();
    const agents = Array.from({ length: SOURCES }, (_, i) => ({
      ...base,
      id: newId('agent', now),
      token_hash: secretHash(`${i}`),
      permissions: JSON.stringify([{ resource: `db:${i}`, actions: ['read'] }]),
    }));
    const link = (from: Id<'agent'>, to: Id<'agent'>, resource: string) => ({
      id: newId('delegation', now),
      from_agent: from,
      to_agent: to,
      from_owner: owner.id,
      to_owner: owner.id,
      permissions: JSON.stringify([{ resource, actions: ['read'] }]),
      depth: 1,
      max_depth: 10,
      expires_at: null,
      ends_at: null,
      created_at: now,
      revoked_at: null,
      self_supplied: 1,
      policy_epoch: epoch,
    });
    // The first WIDTH agents delegate to the target; every other agent delegates to one of these.
    const links = agents.map(({ id }, i) =>
      i < WIDTH ? link(id, target.id, `db:${i}`) : link(id, agents[i % WIDTH]?.id as Id<'agent'>, `db:${i}`),
    );
    for (const rows of chunk(agents)) await db.insertInto('agents').values(rows).execute();
    for (const rows of chunk(links)) await db.insertInto('delegations').values(rows).execute();
    invalidate();
  });
});

describe('an agent with more agents above it than are read', () => {
  it('is listed with the permissions of its nearest chains, and the answer is marked as not complete', async () => {
    const r = await t.call('GET', `/agents/${target.id}/permissions`, { as: owner });
    expect([r.status, r.headers.get('legate-complete')]).toEqual([200, 'false']);
    const resources = r.body.map(({ resource }: Json) => resource);
    expect(resources).toEqual(expect.arrayContaining(['own', 'db:0', `db:${WIDTH - 1}`]));
    expect(resources).toHaveLength(1 + WIDTH);
  });

  it('is searched by AuthZEN with the same bound, which the response context names', async () => {
    const subject = { type: 'agent', id: target.id };
    const search = (path: string, body: object) => t.call('POST', `/access/v1/search/${path}`, { as: owner, body });
    const resources = await search('resource', { subject, action: { name: 'read' }, resource: { type: 'db' } });
    expect([resources.status, resources.body.context]).toEqual([200, { complete: false }]);
    expect(resources.body.results).toHaveLength(WIDTH);
    const actions = await search('action', { subject, resource: { type: 'db', id: '0' } });
    expect(actions.body).toMatchObject({ results: [{ name: 'read' }], context: { complete: false } });
  });

  it('is explained with the same bound', async () => {
    const { auditId } = (
      await t.call('POST', '/authorize', {
        as: owner,
        body: { agentId: target.id, action: 'read', resource: 'own' },
      })
    ).body;
    const r = await t.call('GET', `/audit/${auditId}/explain`, { as: owner });
    expect([r.status, r.body.complete, r.body.trace.entries[0].outcome]).toEqual([200, false, 'allowed']);
  });
});

it('answers about ordinary agents are marked as complete', async () => {
  const other = await t.user();
  const small = await t.agent(other, { permissions: [{ resource: 'db:1', actions: ['read'] }] });
  const r = await t.call('GET', `/agents/${small.id}/permissions`, { as: other });
  expect([r.headers.get('legate-complete'), r.body.length]).toEqual(['true', 1]);
  const body = { subject: { type: 'agent', id: small.id }, resource: { type: 'db', id: '1' } };
  const found = await t.call('POST', '/access/v1/search/action', { as: other, body });
  expect(found.body).toEqual({ results: [{ name: 'read' }], page: { next_token: '', count: 1 } });
});
