import fc from 'fast-check';
import type { ModelPermission } from './model.ts';

/**
 * The agents of a history, by position: three of one owner, one of another owner of the same tenant, one of an
 * unrelated owner.
 */
export const NAMES = ['a', 'b', 'c', 'd', 'e'] as const;
export const OWNERS = ['alice', 'alice', 'alice', 'bob', 'carol'] as const;

export type As = 'owner' | 'admin' | 'source' | 'target' | 'bob' | 'carol';

export type Command =
  | {
      do: 'delegate';
      from: number;
      to: number;
      permissions: ModelPermission[];
      minutes: number | null;
      maxDepth: number | undefined;
      as: As;
    }
  | { do: 'revoke'; nth: number; as: As }
  | { do: 'revoke agent'; agent: number }
  | { do: 'permit'; agent: number; permissions: ModelPermission[] }
  | { do: 'expire'; agent: number; minutes: number | null }
  | { do: 'wait'; minutes: number }
  | { do: 'call'; agent: number; question: number; times: number };

export interface Question {
  readonly action: string;
  readonly resource: string;
  readonly ip: string | null;
}

export interface History {
  readonly agents: ModelPermission[][];
  readonly questions: Question[];
  readonly commands: Command[];
}

const agent = fc.nat({ max: NAMES.length - 1 });
const action = fc.constantFrom('read', 'read', 'write');
const permission = (resource: fc.Arbitrary<string>, actions: fc.Arbitrary<string[]>): fc.Arbitrary<ModelPermission> =>
  fc
    .record({
      resource,
      actions,
      constraints: fc.oneof(
        { weight: 9, arbitrary: fc.constant(undefined) },
        { weight: 2, arbitrary: fc.nat({ max: 3 }).map((maxCallsPerHour) => ({ maxCallsPerHour })) },
        {
          weight: 1,
          arbitrary: fc
            .constantFrom({ start: '10:00', end: '11:00' }, { start: '22:00', end: '10:30' })
            .map((timeWindow) => ({ timeWindow })),
        },
        {
          weight: 1,
          arbitrary: fc
            .constantFrom(['192.0.2.1'], ['192.0.2.1', '2001:db8::1'])
            .map((ipAllowlist) => ({ ipAllowlist })),
        },
      ),
    })
    .map(({ constraints, ...rest }) => (constraints ? { ...rest, constraints } : rest));
/** Two entries of one holder always differ, so that their counters are distinct. */
const permissions = (one: fc.Arbitrary<ModelPermission>, minLength: number): fc.Arbitrary<ModelPermission[]> =>
  fc.uniqueArray(one, { minLength, maxLength: 3, selector: (p) => `${p.resource} ${[...p.actions].sort()}` });

const held = permission(
  fc.constantFrom('*', 'db:*', 'db:*', 'db:x', '*:x', 'db:*:r', '*:*', 'db:x:*'),
  fc.constantFrom(['*'], ['read', 'write'], ['read', 'write'], ['read']),
);
/** Permissions that can usually be delegated further. */
const given = permission(
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('db:x', 'db:x', 'db:*') },
    { weight: 1, arbitrary: fc.constantFrom('db:x:*', 'db:x:r', '*:x', 'db:*:r', '*') },
  ),
  fc.constantFrom(['read'], ['read'], ['read'], ['write'], ['read', 'write'], ['*']),
);

const as = fc.oneof(
  { weight: 6, arbitrary: fc.constant<As>('owner') },
  { weight: 1, arbitrary: fc.constantFrom<As>('admin', 'source', 'target', 'bob', 'carol') },
);
const maxDepth = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 4 }) },
);
/** Some of these times are in the same minute as another command. */
const minutes = fc.constantFrom(10, 20, 20, 50, 50, 60);

/**
 * Chooses agents of a delegation: from one of the first to one of the last, or between any two. Chains are common;
 * cycles and self-delegation are possible.
 */
const ends = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom([0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [0, 1], [1, 2]) },
  { weight: 1, arbitrary: fc.tuple(agent, agent) },
) as fc.Arbitrary<[number, number]>;

const delegate: fc.Arbitrary<Command> = fc
  .record({
    ends,
    permissions: permissions(given, 1),
    minutes: fc.oneof(
      { weight: 8, arbitrary: fc.constant(null) },
      { weight: 5, arbitrary: minutes },
      { weight: 1, arbitrary: fc.constantFrom(0, -10) },
    ),
    maxDepth,
    as,
  })
  .map(({ ends: [from, to], ...rest }) => ({ do: 'delegate', from, to, ...rest }));

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 14, arbitrary: delegate },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('revoke' as const), nth: fc.nat({ max: 7 }), as }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('revoke agent' as const), agent }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('permit' as const), agent, permissions: permissions(held, 0) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('expire' as const), agent, minutes: fc.oneof(fc.constant(null), minutes) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), minutes }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      agent,
      question: fc.nat({ max: 3 }),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
);

const question: fc.Arbitrary<Question> = fc.record({
  action,
  resource: fc.constantFrom('db:x', 'db:x', 'db:x', 'db:x:r', 'db:y', 'db'),
  ip: fc.constantFrom('192.0.2.1', '192.0.2.1', '192.0.2.1', '198.51.100.1', null),
});

/** The beginning of most histories: a chain, a diamond, two chains of different lengths. */
const beginning: fc.Arbitrary<Command[]> = fc
  .constantFrom(
    [],
    [[0, 1]],
    [
      [0, 1],
      [1, 2],
    ],
    [
      [0, 1],
      [1, 2],
      [2, 3],
    ],
    [
      [0, 1],
      [0, 1],
      [1, 2],
      [2, 3],
    ],
    [
      [0, 1],
      [0, 2],
      [1, 3],
      [2, 3],
    ],
    [
      [0, 1],
      [0, 2],
      [1, 2],
      [2, 3],
    ],
  )
  .chain((pairs) =>
    fc.tuple(
      ...pairs.map(([from = 0, to = 0]) =>
        fc.record({
          do: fc.constant('delegate' as const),
          from: fc.constant(from),
          to: fc.constant(to),
          permissions: permissions(permission(fc.constant('db:*'), fc.constant(['read'])), 1),
          minutes: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 2, arbitrary: minutes }),
          maxDepth,
          as: fc.constant<As>('owner'),
        }),
      ),
    ),
  );

const root = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom([{ resource: 'db:*', actions: ['*'] }], [{ resource: '*', actions: ['read', 'write'] }]),
  },
  { weight: 1, arbitrary: permissions(held, 1) },
);
const other = fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: permissions(held, 0) });

export const history: fc.Arbitrary<History> = fc
  .record({
    agents: fc.tuple(root, other, other, other, other) as fc.Arbitrary<ModelPermission[][]>,
    questions: fc
      .array(question, { minLength: 1, maxLength: 3 })
      .map((more) => [{ action: 'read', resource: 'db:x', ip: '192.0.2.1' }, ...more]),
    begin: beginning,
    commands: fc.array(command, { minLength: 3, maxLength: 14, size: 'max' }),
  })
  .map(({ begin, commands, ...rest }) => ({ ...rest, commands: [...begin, ...commands] }));

const passOn = (from: number, to: number, more: { minutes?: number; as?: As } = {}): Command => ({
  do: 'delegate',
  from,
  to,
  permissions: [{ resource: 'db:*', actions: ['read'] }],
  minutes: null,
  maxDepth: undefined,
  as: 'owner',
  ...more,
});

const permitBetween = (start: string, end: string): Command => ({
  do: 'permit',
  agent: 0,
  permissions: [{ resource: 'db:*', actions: ['read'], constraints: { timeWindow: { start, end } } }],
});

/** A fixed history of cases that random ones rarely contain. */
export const SELDOM: History = {
  agents: [[{ resource: 'db:*', actions: ['*'] }], [], [], [], []],
  questions: [{ action: 'read', resource: 'db:x', ip: '192.0.2.1' }],
  commands: [
    passOn(0, 1),
    passOn(1, 2),
    passOn(2, 3),
    passOn(2, 0),
    passOn(0, 0),
    passOn(0, 4, { as: 'admin' }),
    passOn(0, 1, { minutes: -10 }),
    { do: 'revoke', nth: 1, as: 'owner' },
    passOn(1, 2),
    passOn(2, 3),
    { do: 'revoke', nth: 0, as: 'owner' },
    { do: 'revoke agent', agent: 2 },
    passOn(0, 2),
    { do: 'expire', agent: 3, minutes: 10 },
    { do: 'wait', minutes: 20 },
    permitBetween('22:00', '22:01'),
    permitBetween('10:00', '10:01'),
  ],
};

const shown = (list: readonly ModelPermission[]): string =>
  list
    .map((p) => `${p.actions.join('+')} ${p.resource}${p.constraints ? ` ${JSON.stringify(p.constraints)}` : ''}`)
    .join(', ') || 'nothing';

/** Describes a command in one readable line. */
export function describeCommand(c: Command): string {
  switch (c.do) {
    case 'delegate':
      return (
        `${c.as} delegates ${shown(c.permissions)} from ${NAMES[c.from]} to ${NAMES[c.to]}` +
        (c.minutes === null ? '' : `, for ${c.minutes} min`) +
        (c.maxDepth === undefined ? '' : `, maxDepth ${c.maxDepth}`)
      );
    case 'revoke':
      return `${c.as} revokes delegation ${c.nth} (counted round)`;
    case 'revoke agent':
      return `${NAMES[c.agent]} is revoked`;
    case 'permit':
      return `${NAMES[c.agent]} is given ${shown(c.permissions)}`;
    case 'expire':
      return `${NAMES[c.agent]} expires ${c.minutes === null ? 'never' : `in ${c.minutes} min`}`;
    case 'wait':
      return `${c.minutes} min pass`;
    case 'call':
      return `${NAMES[c.agent]} asks question ${c.question} ${c.times} times`;
  }
}

export const describeAgents = (h: History): string[] =>
  h.agents.map((list, i) => `${NAMES[i]} of ${OWNERS[i]} holds ${shown(list)}`);
