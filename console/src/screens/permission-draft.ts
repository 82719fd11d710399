import type { Constraints, Permission } from 'legate/client';
import { covers, coversActions } from '../parts/covers.ts';
import { t } from '../texts/index.ts';

/** One permission as the fields of the editor. `further` is JSON of the constraints that have no field of their own. */
export interface Draft {
  readonly resource: string;
  readonly actions: string;
  readonly cap: string;
  readonly ips: string;
  readonly approval: boolean;
  readonly further: string;
}

export function draftOf({ resource, actions, constraints = {} }: Permission): Draft {
  const { maxCallsPerHour, ipAllowlist, requireApproval, ...rest } = constraints;
  return {
    resource,
    actions: actions.join(' '),
    cap: maxCallsPerHour === undefined ? '' : String(maxCallsPerHour),
    ips: (ipAllowlist ?? []).join(' '),
    approval: requireApproval === true,
    further: Object.keys(rest).length === 0 ? '' : JSON.stringify(rest, null, 2),
  };
}

const words = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

/** Throws if the JSON of an entry cannot be read. */
export const permissionsOf = (drafts: readonly Draft[]): Permission[] =>
  drafts.map(({ resource, actions, cap, ips, approval, further }) => {
    const constraints: Constraints = {
      ...(further.trim() === '' ? {} : (JSON.parse(further) as Constraints)),
      ...(cap === '' ? {} : { maxCallsPerHour: Number(cap) }),
      ...(words(ips).length === 0 ? {} : { ipAllowlist: words(ips) }),
      ...(approval && { requireApproval: true }),
    };
    return {
      resource: resource.trim(),
      actions: words(actions),
      ...(Object.keys(constraints).length > 0 && { constraints }),
    };
  });

const isFree = (d: Draft): boolean => d.cap === '' && d.ips === '' && !d.approval && d.further.trim() === '';

const sameConditions = (a: Draft, b: Draft): boolean =>
  a.cap === b.cap && a.ips === b.ips && a.approval === b.approval && a.further.trim() === b.further.trim();

/** Returns what is probably not meant by an entry. */
export function lint(draft: Draft, all: readonly Draft[], index: number): (keyof typeof t.lints)[] {
  const found: (keyof typeof t.lints)[] = [];
  if (draft.resource === '*' && words(draft.actions).includes('*') && isFree(draft)) found.push('everything');
  if (draft.cap !== '' && Number(draft.cap) === 0) found.push('capZero');
  const others = all.filter(
    (d, i) =>
      i !== index &&
      covers(d.resource.trim(), draft.resource.trim()) &&
      coversActions(words(d.actions), words(draft.actions)),
  );
  if (draft.resource.trim() !== '' && draft.actions.trim() !== '') {
    if (others.some((d) => isFree(d) && !isFree(draft))) found.push('voided');
    else if (others.some((d) => isFree(d) || sameConditions(d, draft))) found.push('duplicate');
  }
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
