import type { Reason } from './reasons.ts';
import type { Permission } from './schema.ts';

/**
 * One row of the decision table: title, agent, question, and the expected answer and audit result.
 */
export interface DecisionCase {
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly action?: string;
  readonly resource: string;
  /** true, or the reason of the refusal. */
  readonly want: true | Reason;
  /** Number of calls allowed earlier in this clock hour. */
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
  { name: 'denies an agent without permissions', permissions: [], resource: 'a', want: 'NO_PERMISSION' },
  { name: 'matches actions exactly', permissions: [read('a')], action: 'rea', resource: 'a', want: 'NO_PERMISSION' },
  {
    name: 'matches actions case-sensitively',
    permissions: [read('a')],
    action: 'READ',
    resource: 'a',
    want: 'NO_PERMISSION',
  },
  {
    name: 'treats the action * as any action',
    permissions: [{ resource: 'a', actions: ['*'] }],
    action: 'delete',
    resource: 'a',
    want: true,
  },
  {
    name: 'requires an entry with * for the action *',
    permissions: [read('a')],
    action: '*',
    resource: 'a',
    want: 'NO_PERMISSION',
  },
  {
    name: 'allows by any matching entry, not only the first',
    permissions: [{ resource: 'mcp:*', actions: ['list'] }, read('mcp:gh:*')],
    resource: 'mcp:gh:x',
    want: true,
  },
  {
    name: 'never allows with a limit of 0',
    permissions: [{ ...read('a'), constraints: { maxCallsPerHour: 0 } }],
    resource: 'a',
    want: 'RATE_LIMITED',
  },
  {
    name: 'allows calls up to the limit',
    permissions: [{ ...read('a'), constraints: { maxCallsPerHour: 3 } }],
    resource: 'a',
    after: 2,
    want: true,
  },
  {
    name: 'refuses calls beyond the limit',
    permissions: [{ ...read('a'), constraints: { maxCallsPerHour: 3 } }],
    resource: 'a',
    after: 3,
    want: 'RATE_LIMITED',
  },
  {
    name: 'skips an entry at its limit for one below its limit',
    permissions: [{ ...read('a'), constraints: { maxCallsPerHour: 1 } }, read('*')],
    resource: 'a',
    after: 5,
    want: true,
  },
  {
    name: 'adds up the limits of two entries for the same resource and action',
    permissions: [
      { ...read('a'), constraints: { maxCallsPerHour: 1 } },
      { ...read('a'), constraints: { maxCallsPerHour: 2 } },
    ],
    resource: 'a',
    after: 2,
    want: true,
  },
  {
    name: 'refuses when both of these entries are at their limit',
    permissions: [
      { ...read('a'), constraints: { maxCallsPerHour: 1 } },
      { ...read('a'), constraints: { maxCallsPerHour: 2 } },
    ],
    resource: 'a',
    after: 3,
    want: 'RATE_LIMITED',
  },
  {
    name: 'prefers RATE_LIMITED to NO_PERMISSION',
    permissions: [{ ...read('a'), constraints: { maxCallsPerHour: 0 } }, read('b')],
    resource: 'a',
    want: 'RATE_LIMITED',
  },
];
