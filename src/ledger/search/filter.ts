import type { StreamEventRow } from '../../storage/index.ts';
import { clientOf } from './client.ts';

/** What rows of the ledger can be selected by. */
export type FilterField =
  | 'type'
  | 'agentId'
  | 'userId'
  | 'action'
  | 'resource'
  | 'result'
  | 'reason'
  | 'ip'
  | 'delegationId'
  | 'clientId'
  | 'id';

/** Matches rows that have one of the values; with `not`, all others, those without any value among them. */
export interface Condition {
  readonly field: FilterField;
  /** A resource may be `prefix:*`, which stands for everything below the prefix, or `*`, which stands for all. */
  readonly values: readonly string[];
  readonly not?: boolean | undefined;
}

/** Selects rows of the ledger: all conditions must hold. */
export interface EntryFilter {
  readonly where: readonly Condition[];
  /** Inclusive. */
  readonly sinceMs?: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
  /** Only rows above this sequence. */
  readonly afterSeq?: number | undefined;
  /** Only rows below this sequence. */
  readonly beforeSeq?: number | undefined;
}

/** Segments of a prefix that the index knows. Filters with longer prefixes are refused. */
export const MAX_PREFIX_SEGMENTS = 16;

const SUBTREE = ':*';

/** Returns the prefix of `prefix:*`, with the final colon, or undefined for an exact resource. */
export const prefixOf = (resource: string): string | undefined =>
  resource.endsWith(SUBTREE) ? resource.slice(0, -1) : undefined;

export const ANY_RESOURCE = '*';

const matchesResource = (resource: string, wanted: string): boolean => {
  if (wanted === ANY_RESOURCE) return true;
  const prefix = prefixOf(wanted);
  return prefix === undefined ? resource === wanted : resource.length > prefix.length && resource.startsWith(prefix);
};

type Fields = Pick<
  StreamEventRow,
  | 'id'
  | 'type'
  | 'agent_id'
  | 'user_id'
  | 'action'
  | 'resource'
  | 'result'
  | 'reason'
  | 'ip'
  | 'delegation_ids'
  | 'decided'
  | 'change'
>;

const VALUE_OF: Readonly<Record<Exclude<FilterField, 'delegationId'>, (row: Fields) => string | null>> = {
  type: (row) => row.type,
  agentId: (row) => row.agent_id,
  userId: (row) => row.user_id,
  action: (row) => row.action,
  resource: (row) => row.resource,
  result: (row) => row.result,
  reason: (row) => row.reason,
  ip: (row) => row.ip,
  clientId: (row) => clientOf(row.decided, row.change),
  id: (row) => row.id,
};

function hasOneOf(row: Fields, { field, values }: Condition): boolean {
  switch (field) {
    case 'delegationId': {
      const chain = row.delegation_ids === null ? [] : (JSON.parse(row.delegation_ids) as string[]);
      return chain.some((id) => values.includes(id));
    }
    case 'resource': {
      const { resource } = row;
      return resource !== null && values.some((wanted) => matchesResource(resource, wanted));
    }
    default: {
      const value = VALUE_OF[field](row);
      return value !== null && values.includes(value);
    }
  }
}

/** Whether a row meets all conditions. The index must give the same answer. */
export const matches = (row: Fields, where: readonly Condition[]): boolean =>
  where.every((condition) => hasOneOf(row, condition) !== (condition.not === true));
