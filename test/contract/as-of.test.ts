import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LegateError } from '../../src/kernel/errors.ts';
import { createTestService, dialect, type Json, type TestService, type TestUser } from '../support/service.ts';

const MINUTE = 60_000;
const HISTORIES = Number(process.env['LEGATE_TEST_HISTORIES'] ?? (dialect === 'postgres' ? 25 : 60));
/** A few random histories cover every kind of decision only by chance, so each run uses the same histories. */
const SEED = Number(process.env['LEGATE_TEST_SEED'] ?? 1);
const AGENTS = 4;

type Command =
  | {
      do: 'call';
      agent: number;
      action: string;
      resource: string;
      args: number;
      times: number;
      from: string | undefined;
    }
  | { do: 'permit'; agent: number; permissions: Json[] }
  | { do: 'delegate'; from: number; to: number; permissions: Json[]; minutes: number | null }
  | { do: 'revoke delegation' | 'approve'; nth: number }
  | { do: 'revoke agent' | 'budget'; agent: number }
  | { do: 'expire'; agent: number; minutes: number | null }
  | { do: 'wait'; minutes: number };

/** The last two are recorded with redacted values, and a pattern allows one of them. */
const ARGUMENTS: readonly (Record<string, unknown> | undefined)[] = [
  undefined,
  { path: '/data/a' },
  { path: '/etc/passwd' },
  { token: '/data/secret' },
  { token: 'elsewhere' },
];

const agent = fc.nat({ max: AGENTS - 1 });
const constraints = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 3 }).map((maxCallsPerHour) => ({ maxCallsPerHour })) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Json>(
      { timeWindow: { start: '10:00', end: '11:00' } },
      { ipAllowlist: ['192.0.2.1'] },
      { allowedArgPatterns: ['/data/**'] },
      { allowedArgPatterns: ['/data/**', '/etc/*'], maxCallsPerHour: 2 },
      { requireApproval: true },
      { requireApproval: true, maxCallsPerHour: 1 },
    ),
  },
);
const permission = fc
  .record({
    resource: fc.constantFrom('db:*', 'db:*', 'db:x', '*'),
    actions: fc.constantFrom(['read'], ['read', 'write'], ['*']),
    constraints,
  })
  .map(({ constraints: c, ...rest }): Json => (c ? { ...rest, constraints: c } : rest));
const permissions = fc.array(permission, { minLength: 1, maxLength: 3 });
const minutes = fc.constantFrom(10, 20, 50, 60);

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      agent,
      action: fc.constantFrom('read', 'read', 'write'),
      resource: fc.constantFrom('db:x', 'db:x', 'db:y', 'files:x'),
      args: fc.nat({ max: ARGUMENTS.length - 1 }),
      times: fc.integer({ min: 1, max: 3 }),
      from: fc.constantFrom('192.0.2.1', '192.0.2.1', '198.51.100.1', undefined),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('permit' as const), agent, permissions }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('delegate' as const),
      from: agent,
      to: agent,
      permissions: fc.array(permission, { minLength: 1, maxLength: 2 }),
      minutes: fc.constantFrom(null, null, 10, 20),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('revoke delegation' as const), nth: fc.nat({ max: 5 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('approve' as const), nth: fc.nat({ max: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('revoke agent' as const), agent }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('budget' as const), agent }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('expire' as const), agent, minutes: fc.constantFrom(null, 10, 20) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), minutes }) },
);
const history = fc.record({
  held: fc.array(permissions, { minLength: AGENTS, maxLength: AGENTS }),
  commands: fc.array(command, { minLength: 12, maxLength: 24 }),
});

/** The call repeats the approved one, so that approvals are used. */
interface Waiting {
  readonly approvalId: string;
  readonly ask: () => Promise<unknown>;
}

async function play(t: TestService, owner: TestUser, h: { held: Json[][]; commands: Command[] }): Promise<void> {
  const { legate, clock } = t;
  const agents: string[] = [];
  for (const held of h.held)
    agents.push(
      (await legate.agents.create({ ownerId: owner.id, name: 'a', type: 'autonomous', permissions: held })).id,
    );
  const delegations: string[] = [];
  const waiting: Waiting[] = [];
  const at = (i: number): string => agents[i] as string;
  for (const c of h.commands)
    try {
      switch (c.do) {
        case 'call': {
          const question = { agentId: at(c.agent), action: c.action, resource: c.resource };
          const args = ARGUMENTS[c.args];
          const ask = () =>
            legate.authorize({
              ...question,
              ...(args ? { arguments: args } : {}),
              ...(c.from === undefined ? {} : { context: { ip: c.from } }),
            });
          for (let i = 0; i < c.times; i++) {
            const { approvalId } = await ask();
            if (approvalId) waiting.push({ approvalId, ask });
          }
          break;
        }
        case 'permit':
          await legate.agents.update(at(c.agent), { permissions: c.permissions });
          break;
        case 'delegate': {
          const expiresAt = c.minutes === null ? null : new Date(clock.now() + c.minutes * MINUTE);
          const made = { fromAgent: at(c.from), toAgent: at(c.to), permissions: c.permissions, expiresAt };
          delegations.push((await legate.delegations.create(made)).id);
          break;
        }
        case 'revoke delegation': {
          const id = delegations[c.nth % Math.max(1, delegations.length)];
          if (id !== undefined) await legate.delegations.revoke(id);
          break;
        }
        case 'approve': {
          const [found] = waiting.splice(c.nth % Math.max(1, waiting.length), 1);
          if (!found) break;
          await t.call('POST', `/approvals/${found.approvalId}/approve`, { as: owner });
          await found.ask();
          break;
        }
        case 'revoke agent':
          await legate.agents.revoke(at(c.agent));
          break;
        case 'budget':
          await legate.budgets.create({
            agentId: at(c.agent),
            metric: 'calls',
            limit: 2,
            window: 'day',
            onExceed: 'deny',
          });
          break;
        case 'expire': {
          const expiresAt = c.minutes === null ? null : new Date(clock.now() + c.minutes * MINUTE);
          await legate.agents.update(at(c.agent), { expiresAt });
          break;
        }
        case 'wait':
          clock.advance(c.minutes * MINUTE);
          break;
      }
    } catch (error) {
      // The history contains calls that the service refuses.
      if (!(error instanceof LegateError)) throw error;
    }
}

const COVERED = [
  'allowed',
  'allowed by a chain',
  'allowed by an approval',
  'allowed with redacted arguments',
  'NO_PERMISSION',
  'RATE_LIMITED',
  'APPROVAL_REQUIRED',
  'BUDGET_EXCEEDED',
  'OUTSIDE_TIME_WINDOW',
  'IP_NOT_ALLOWED',
  'ARGUMENTS_NOT_ALLOWED',
  'AGENT_REVOKED',
  'AGENT_EXPIRED',
] as const;

describe('random histories', () => {
  it(`${HISTORIES}: each decision, evaluated as of its sequence, has its recorded result and reason`, async () => {
    const t = await createTestService({
      config: { agents: { maxPerOwner: 1_000_000 }, approvals: { ttl: 86_400 } },
    });
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(history, async (h) => {
        const owner = await t.user();
        await play(t, owner, h);
        const { entries } = await t.legate.audit.query({ userId: owner.id, limit: 1000 });
        for (const entry of entries) {
          if (entry.resource.startsWith('legate:approvals:')) continue;
          const { asOf, evaluated, trace } = await t.legate.audit.explain(entry.id);
          expect({ asOf, ...evaluated }).toEqual({ asOf: entry.seq, result: entry.result, reason: entry.reason });
          const allowing = trace.entries.find(({ outcome }) => outcome === 'allowed');
          if (entry.result === 'allowed') expect(allowing?.resource).toBe(entry.permission?.resource);
          const kinds = [
            entry.reason ?? 'allowed',
            ...(entry.delegationIds.length > 0 ? ['allowed by a chain'] : []),
            ...(entry.approvalId === undefined ? [] : ['allowed by an approval']),
            ...(entry.result === 'allowed' && entry.parameters['token'] ? ['allowed with redacted arguments'] : []),
          ];
          for (const kind of kinds) seen.set(kind, (seen.get(kind) ?? 0) + 1);
        }
      }),
      { numRuns: HISTORIES, endOnFailure: true, seed: SEED },
    );
    expect(COVERED.filter((kind) => !seen.has(kind))).toEqual([]);
  });
});
