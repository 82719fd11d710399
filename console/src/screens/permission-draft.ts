import type { Constraints, Permission } from 'legate/client';
import { covers, coversActions } from '../parts/covers.ts';
import { t } from '../texts/index.ts';

export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
type Day = (typeof DAYS)[number];

/** One permission as the fields of the editor. */
export interface Draft {
  readonly resource: string;
  readonly actions: readonly string[];
  readonly cap: string;
  readonly ips: readonly string[];
  readonly patterns: readonly string[];
  readonly approval: boolean;
  readonly window?: {
    readonly start: string;
    readonly end: string;
    readonly zone: string;
    readonly days: readonly Day[];
  };
}

/** Days are numbered as in the API: 0 is Sunday. */
const dayOf = (day: string | number): Day =>
  typeof day === 'number' ? (DAYS[(day + 6) % 7] as Day) : (day.slice(0, 3).toLowerCase() as Day);

export function draftOf({ resource, actions, constraints = {} }: Permission): Draft {
  const { maxCallsPerHour, ipAllowlist, requireApproval, allowedArgPatterns, timeWindow } = constraints;
  return {
    resource,
    actions,
    cap: maxCallsPerHour === undefined ? '' : String(maxCallsPerHour),
    ips: ipAllowlist ?? [],
    patterns: allowedArgPatterns ?? [],
    approval: requireApproval === true,
    ...(timeWindow && {
      window: {
        start: timeWindow.start,
        end: timeWindow.end,
        zone: timeWindow.timeZone ?? '',
        days: (timeWindow.days ?? []).map(dayOf),
      },
    }),
  };
}

export const permissionOf = ({ resource, actions, cap, ips, patterns, approval, window }: Draft): Permission => {
  const constraints: Constraints = {
    ...(cap === '' ? {} : { maxCallsPerHour: Number(cap) }),
    ...(window && {
      timeWindow: {
        start: window.start,
        end: window.end,
        ...(window.zone && { timeZone: window.zone }),
        ...(window.days.length > 0 && { days: DAYS.filter((day) => window.days.includes(day)) }),
      },
    }),
    ...(ips.length > 0 && { ipAllowlist: ips }),
    ...(patterns.length > 0 && { allowedArgPatterns: patterns }),
    ...(approval && { requireApproval: true }),
  };
  return { resource, actions, ...(Object.keys(constraints).length > 0 && { constraints }) };
};

const conditions = (draft: Draft): string => JSON.stringify(permissionOf(draft).constraints ?? {});
const isFree = (draft: Draft): boolean => conditions(draft) === '{}';

/**
 * Returns warnings about probable mistakes in an entry. `voided` and `duplicate` find every case in which entries allow
 * everything without conditions: several of them may cover the actions together.
 */
export function lint(draft: Draft, all: readonly Draft[]): (keyof typeof t.lints)[] {
  const found: (keyof typeof t.lints)[] = [];
  if (draft.resource === '*' && draft.actions.includes('*') && isFree(draft)) found.push('everything');
  if (draft.cap !== '' && Number(draft.cap) === 0) found.push('capZero');
  if (draft.resource === '' || draft.actions.length === 0) return found;
  const others = all.filter((d) => d !== draft && covers(d.resource, draft.resource));
  const free = others.filter(isFree).flatMap((d) => d.actions);
  const isAllowedAnyway = coversActions(free, draft.actions);
  if (isAllowedAnyway && !isFree(draft)) found.push('voided');
  else if (
    isAllowedAnyway ||
    others.some((d) => coversActions(d.actions, draft.actions) && conditions(d) === conditions(draft))
  )
    found.push('duplicate');
  return found;
}

/** Returns the conditions of a permission in words. */
export const entriesOf = (c: Constraints): string[] => [
  ...(c.maxCallsPerHour === undefined ? [] : [t.says.cap(c.maxCallsPerHour)]),
  ...(c.requireApproval ? [t.requireApproval] : []),
  ...(c.ipAllowlist ? [t.says.ips(c.ipAllowlist.join(', '))] : []),
  ...(c.allowedArgPatterns ? [t.says.patterns(c.allowedArgPatterns.join(', '))] : []),
  ...(c.timeWindow
    ? [
        t.says.window(
          `${c.timeWindow.start}–${c.timeWindow.end} ${c.timeWindow.timeZone ?? 'UTC'}`,
          c.timeWindow.days?.join(', '),
        ),
      ]
    : []),
];

/** Returns a permission as a sentence. */
export const sentenceOf = ({ resource, actions, constraints }: Permission): string =>
  [t.may(actions.join(', '), resource), ...(constraints ? entriesOf(constraints) : [])].join('; ');
