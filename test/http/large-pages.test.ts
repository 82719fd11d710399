import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestAgent, type TestService, type TestUser } from '../support/service.ts';

/** Permissions of about 1 MB, nearly the longest that a request can have. */
const longPermissions = (resource: string) =>
  Array.from({ length: 75 }, (_, i) => ({
    resource,
    actions: Array.from({ length: 100 }, (_, j) => `${i}-${j}-`.padEnd(120, 'x')),
  }));

const AGENTS = 11;

let t: TestService;
let owner: TestUser;
let agents: TestAgent[];

beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  agents = [];
  for (let i = 0; i < AGENTS; i++) agents.push(await t.agent(owner, { permissions: longPermissions('mcp:a:*') }));
});

/** Follows the links from page to page. */
async function pages(path: string): Promise<Json[][]> {
  const found: Json[][] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const answer = await t.call('GET', next, { as: owner });
    expect(answer.status).toBe(200);
    expect(answer.text.length).toBeLessThan(10_000_000);
    found.push(answer.body as Json[]);
    next = /<([^>]*)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  expect(found.length).toBeGreaterThan(1);
  return found;
}

describe('A page of large rows ends early', () => {
  it.each(['createdAt', '-createdAt', 'name', '-calls'])('in GET /agents, ordered by %s', async (sort) => {
    const found = (await pages(`/agents?sort=${sort}`)).flat();
    expect(found.map(({ id }) => id).sort()).toEqual(agents.map(({ id }) => id).sort());
    expect(found.every(({ permissions }) => permissions.length === 75)).toBe(true);
  });

  it('in GET /delegations', async () => {
    const [source, ...targets] = agents as [TestAgent, ...TestAgent[]];
    const made: string[] = [];
    for (const target of targets) {
      const body = { fromAgent: source.id, toAgent: target.id, permissions: longPermissions('mcp:a:*') };
      made.push((await t.call('POST', '/delegations', { as: owner, body })).body.id);
    }
    expect((await pages('/delegations')).flat().map(({ id }) => id)).toEqual(made);
  });

  it('in GET /approvals', async () => {
    const permissions = [{ resource: 'db:*', actions: ['drop'], constraints: { requireApproval: true } }];
    const asking = [await t.agent(owner, { permissions }), await t.agent(owner, { permissions })] as const;
    const waiting: string[] = [];
    for (let i = 0; i < 150; i++) {
      const call = { action: 'drop', resource: `db:${i}`, arguments: { reason: 'x'.repeat(60_000) } };
      waiting.unshift((await t.authorize(asking[i % 2 === 0 ? 0 : 1], call)).body.approvalId);
    }
    const answered = [...(await pages('/approvals')), ...(await pages('/approvals?status=pending'))].flat();
    expect(answered.map(({ id }) => id)).toEqual([...waiting, ...waiting]);
  });

  it('in GET /agents/:id/history and GET /changes', async () => {
    const { id } = await t.agent(owner);
    for (let i = 0; i < AGENTS; i++) {
      const body = { permissions: longPermissions(`mcp:v${i}:*`) };
      expect((await t.call('PATCH', `/agents/${id}`, { as: owner, body })).status).toBe(200);
    }
    const versions = (await pages(`/agents/${id}/history`)).flat();
    expect(versions.map(({ version }) => version)).toEqual(
      Array.from({ length: AGENTS + 1 }, (_, i) => AGENTS + 1 - i),
    );
    for (const [i, { before }] of versions.slice(0, -1).entries())
      expect(before.permissions).toEqual(versions[i + 1].after.permissions);
    const changes = (await pages(`/changes?subject=${id}`)).flat();
    expect(changes.map(({ seq }) => seq)).toEqual(versions.map(({ seq }) => seq));
  });
});
