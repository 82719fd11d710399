import type { Reason } from './decide.ts';
import type { Permission } from './schema.ts';

/** One row of the decision table: a sentence, the agent, the question, the wanted answer and the wanted audit entry's result. */
export interface DecisionCase {
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly action?: string;
  readonly resource: string;
  /** true, or the reason of the refusal. */
  readonly want: true | Reason;
  /** How often the question was allowed before in this clock hour. */
  readonly after?: number;
}

const read = (resource: string): Permission => ({ resource, actions: ['read'] });

const patterns: [pattern: string, resource: string, matches: boolean][] = [
  ['mcp:github:*', 'mcp:github:list_issues', true],
  ['mcp:github:*', 'mcp:github:a:b:c', true],
  ['mcp:github:*', 'mcp:github', false],
  ['mcp:github:*', 'mcp:githubevil:x', false],
  ['mcp:github:*', 'mcp:github:', false],
  ['mcp:github:*', 'mcp:github::x', false],
  ['mcp:github:*', 'mcp:github:x:', false],
  ['mcp:github:*', 'mcp:github:x::y', false],
  ['*:*', ':a', false],
  ['*', 'a::', true],
  ['*', ':', true],
  ['mcp:github:*', 'MCP:github:x', false],
  ['mcp:*:list', 'mcp:any:list', true],
  ['mcp:*:list', 'mcp:any:DELETE', false],
  ['mcp:*:list', 'mcp:a:b:list', false],
  ['mcp:*:list', 'mcp::list', false],
  ['mcp:*:*', 'mcp:a:b', true],
  ['mcp:*:*', 'mcp:a', false],
  ['*:b', 'a:b', true],
  ['*:b', 'b', false],
  ['*', 'anything', true],
  ['*', 'a:b:c', true],
  ['a:*:c:*', 'a:b:c:d:e', true],
  ['a:*:c:*', 'a:b:c', false],
  ['db:orders', 'db:orders', true],
  ['db:orders', 'db:orders:x', false],
  ['db:orders', 'db:order', false],
  ['db:orders', 'db:orders ', false],
  ['db:*', 'db:*', true],
  ['db:x', 'db:*', false],
  ['__proto__:*', '__proto__:x', true],
  ['db:*', 'constructor', false],
];

export const decisionCases: readonly DecisionCase[] = [
  ...patterns.map(
    ([pattern, resource, matches]): DecisionCase => ({
      name: `${pattern} ${matches ? 'matches' : 'does not match'} ${JSON.stringify(resource)}`,
      permissions: [read(pattern)],
      resource,
      want: matches || 'NO_PERMISSION',
    }),
  ),
  { name: 'an agent without permissions may do nothing', permissions: [], resource: 'a', want: 'NO_PERMISSION' },
  { name: 'actions match exactly', permissions: [read('a')], action: 'rea', resource: 'a', want: 'NO_PERMISSION' },
  {
    name: 'actions are case-sensitive',
    permissions: [read('a')],
    action: 'READ',
    resource: 'a',
    want: 'NO_PERMISSION',
  },
  {
    name: 'the action * means any',
    permissions: [{ resource: 'a', actions: ['*'] }],
    action: 'delete',
    resource: 'a',
    want: true,
  },
  {
    name: 'asking for the action * needs an entry with *',
    permissions: [read('a')],
    action: '*',
    resource: 'a',
    want: 'NO_PERMISSION',
  },
  {
    name: 'any entry may allow, not only the first that matches',
    permissions: [{ resource: 'mcp:*', actions: ['list'] }, read('mcp:gh:*')],
    resource: 'mcp:gh:x',
    want: true,
  },
  {
    name: 'a cap of 0 never allows',
    permissions: [{ ...read('a'), constraints: { maxCallsPerHour: 0 } }],
    resource: 'a',
    want: 'RATE_LIMITED',
  },
  {
    name: 'a cap allows up to its number',
    permissions: [{ ...read('a'), constraints: { maxCallsPerHour: 3 } }],
    resource: 'a',
    after: 2,
    want: true,
  },
  {
    name: 'a cap refuses beyond its number',
    permissions: [{ ...read('a'), constraints: { maxCallsPerHour: 3 } }],
    resource: 'a',
    after: 3,
    want: 'RATE_LIMITED',
  },
  {
    name: 'a full entry is passed over for one with room',
    permissions: [{ ...read('a'), constraints: { maxCallsPerHour: 1 } }, read('*')],
    resource: 'a',
    after: 5,
    want: true,
  },
  {
    name: 'two caps on the same resource and action add up',
    permissions: [
      { ...read('a'), constraints: { maxCallsPerHour: 1 } },
      { ...read('a'), constraints: { maxCallsPerHour: 2 } },
    ],
    resource: 'a',
    after: 2,
    want: true,
  },
  {
    name: 'and end together',
    permissions: [
      { ...read('a'), constraints: { maxCallsPerHour: 1 } },
      { ...read('a'), constraints: { maxCallsPerHour: 2 } },
    ],
    resource: 'a',
    after: 3,
    want: 'RATE_LIMITED',
  },
  {
    name: 'a full cap is more actionable than a missing permission',
    permissions: [{ ...read('a'), constraints: { maxCallsPerHour: 0 } }, read('b')],
    resource: 'a',
    want: 'RATE_LIMITED',
  },
];
