import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';
import { clockHour } from '../../kernel/clock.ts';
import { asId } from '../../kernel/ids.ts';
import { secretHash } from '../../kernel/secrets.ts';
import type { AgentRow } from '../../storage/index.ts';
import { CallFacts } from './call-facts.ts';
import { compileAgent } from './compile.ts';
import { decisionCases } from './decide.cases.ts';
import { countersOf, decide } from './decide.ts';
import { explain, type TracedEntry } from './explain.ts';
import { PatternIndex, patternProblem } from './pattern.ts';
import type { Permission } from './schema.ts';

const noAgent = (): never => {
  throw new Error('no chain here');
};
const NOW = Date.parse('2030-01-15T10:10:00.000Z');

const row = (permissions: readonly Permission[]): AgentRow => ({
  id: asId('agent', 'agt_1'),
  owner_id: asId('user', 'usr_1'),
  tenant_id: null,
  name: 'a',
  type: 'autonomous',
  token_hash: secretHash('h'),
  revoked_at: null,
  expires_at: null,
  owner_suspended: 0,
  permissions: JSON.stringify(permissions),
  metadata: '{}',
  created_at: 0,
  updated_at: 0,
  policy_epoch: 1,
  created_by: null,
  name_key: '',
  permission_count: 0,
  unbounded: 0,
  grant_id: null,
});

describe('the decision table, as a pure function', () => {
  it.each(decisionCases)('$name', ({ permissions, action = 'read', resource, want, after = 0 }) => {
    const agent = compileAgent(row(permissions));
    const used = new Map<string, number>();
    const world = { used: (key: string) => used.get(key) ?? 0, agent: noAgent, approved: () => false };
    for (let i = 0; i < after; i++) {
      const before = decide(agent, { action, resource, now: NOW, call: new CallFacts(null, undefined) }, world);
      if (before.allowed) for (const key of countersOf(before)) used.set(key, (used.get(key) ?? 0) + 1);
    }
    const decision = decide(agent, { action, resource, now: NOW, call: new CallFacts(null, undefined) }, world);
    expect(decision.allowed || decision.reason).toBe(want);
  });
});

describe('the limit on evaluation steps', () => {
  it('refuses a call whose chain comes after 20,000 entries that grant nothing', () => {
    const read: Permission = { resource: 'db:*', actions: ['read'] };
    const agents = new Map([
      ['agt_root', compileAgent({ ...row([read]), id: asId('agent', 'agt_root') })],
      ['agt_idle', compileAgent({ ...row([]), id: asId('agent', 'agt_idle') })],
    ]);
    const world = {
      used: () => 0,
      agent: (id: string) => agents.get(id) as NonNullable<ReturnType<typeof agents.get>>,
      approved: () => false,
    };
    const received = (from_agent: string, entries: number) => ({
      id: asId('delegation', `dlg_${from_agent}`),
      from_agent: asId('agent', from_agent),
      to_agent: asId('agent', 'agt_1'),
      permissions: JSON.stringify(Array.from({ length: entries }, () => read)),
      ends_at: null,
      max_depth: 3,
    });
    const decision = (idle: number) => {
      const agent = compileAgent(row([]), [received('agt_idle', idle), received('agt_root', 1)]);
      const ask = { action: 'read', resource: 'db:x', now: NOW, call: new CallFacts(null, undefined) };
      const decided = decide(agent, ask, world);
      const { outcome } = explain(agent, ask, world, decided).entries.at(-1) as TracedEntry;
      return [decided.allowed || decided.reason, outcome];
    };
    expect(decision(19_000)).toEqual([true, 'allowed']);
    expect(decision(20_000)).toEqual(['NO_PERMISSION', 'source-does-not-hold']);
  });
});

describe('the decision table, over HTTP with its audit entries', () => {
  it('returns the same answers and records each decision', async () => {
    const t = await createTestService();
    const owner = await t.user();
    for (const { name, permissions, action = 'read', resource, want, after = 0 } of decisionCases) {
      const agent = await t.agent(owner, { permissions });
      let answer = await t.authorize(agent, { action, resource });
      for (let i = 0; i < after; i++) answer = await t.authorize(agent, { action, resource });
      expect(answer.status, name).toBe(200);
      expect(answer.body.allowed || answer.body.reason, name).toBe(want);
      const entry = await t.legate.platform.database.read
        .selectFrom('stream_events')
        .selectAll()
        .where('id', '=', answer.body.auditId)
        .executeTakeFirst();
      expect(entry, name).toMatchObject({
        type: 'audit',
        agent_id: agent.id,
        user_id: owner.id,
        action,
        resource,
        result: want === true ? 'allowed' : want === 'RATE_LIMITED' ? 'rate_limited' : 'denied',
        reason: want === true ? null : want,
      });
      await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    }
  });
});

describe('patterns', () => {
  const segment = fc.constantFrom('a', 'b', 'c', 'mcp', 'x', '');
  const pattern = fc
    .array(fc.constantFrom('a', 'b', 'c', 'mcp', '*'), { minLength: 1, maxLength: 5 })
    .map((s) => s.join(':'));
  const resource = fc.array(segment, { minLength: 1, maxLength: 6 }).map((s) => s.join(':'));

  /** A literal implementation of contract 6, in which wildcards match no empty segment. */
  const model = (p: string, r: string): boolean => {
    if (p === '*') return true;
    const ps = p.split(':');
    const rs = r.split(':');
    const fits = (s: string, i: number): boolean => (s === '*' ? rs[i] !== '' : s === rs[i]);
    if (ps.at(-1) === '*') {
      const before = ps.slice(0, -1);
      return rs.length > before.length && before.every(fits) && !rs.slice(before.length).includes('');
    }
    return ps.length === rs.length && ps.every(fits);
  };

  it('an index over many patterns finds exactly the patterns that match individually', () => {
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 30 }), resource, (patterns, r) => {
        const index = new PatternIndex<number>();
        patterns.forEach((p, i) => {
          index.add(p, i);
        });
        expect([...index.match(r)].sort((x, y) => x - y)).toEqual(patterns.flatMap((p, i) => (model(p, r) ? [i] : [])));
      }),
      { numRuns: 2000 },
    );
  });

  it('are refused if a * is only part of a segment, or if a segment is empty', () => {
    for (const bad of ['git*', 'mcp:git*', 'a:**', 'a::b', ':a', 'a:', ''])
      expect(patternProblem(bad), bad).toBeTypeOf('string');
    for (const good of ['*', 'a', 'a:*', '*:a', 'a:*:b', '*:*']) expect(patternProblem(good), good).toBeUndefined();
  });
});

describe('counters of entries', () => {
  const keys = (permissions: Permission[]): string[] => {
    const agent = compileAgent(row(permissions));
    const out: string[] = [];
    for (const p of permissions) {
      for (const e of agent.index.match(p.resource.replaceAll('*', 'x')))
        if (e.cap && !out.includes(e.cap.counterKey)) out.push(e.cap.counterKey);
    }
    return out;
  };
  const capped = (resource: string, actions: string[], maxCallsPerHour: number): Permission => ({
    resource,
    actions,
    constraints: { maxCallsPerHour },
  });

  it('do not change with the limit, the order of actions or other entries', () => {
    const [before] = keys([capped('a:*', ['read', 'write'], 5)]);
    expect(keys([capped('a:*', ['write', 'read'], 50)])[0]).toBe(before);
    expect(keys([capped('b', ['read'], 1), capped('a:*', ['read', 'write'], 5)])[1]).toBe(before);
  });

  it('differ for every entry, even for equal ones', () => {
    const all = keys([
      capped('a', ['read'], 5),
      capped('a', ['read'], 5),
      capped('a', ['write'], 5),
      capped('b', ['read'], 5),
    ]);
    expect(new Set(all).size).toBe(4);
  });

  it('use clock hours in UTC', () => {
    expect(clockHour(Date.parse('2030-01-15T10:59:59.999Z')) + 1).toBe(
      clockHour(Date.parse('2030-01-15T11:00:00.000Z')),
    );
  });
});
