import type { StreamEventRow } from '../../storage/index.ts';
import { storedIds } from '../stored-json.ts';
import { clientOf } from './client.ts';

/** Conditions by which rows of the ledger can be selected. */
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

/** Matches rows that have one of the values or, with `not`, all other rows, including those without a value. */
export interface Condition {
  readonly field: FilterField;
  /** A resource may be `prefix:*`, which matches everything below the prefix, or `*`, which matches all resources. */
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

/** Maximum number of segments of a prefix in the index. Filters with longer prefixes are refused. */
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

/** The fields of a row to which conditions apply. */
export interface FilterFields {
  readonly id: string;
  readonly type: string;
  readonly agentId: string | null;
  readonly userId: string | null;
  readonly action: string | null;
  readonly resource: string | null;
  readonly result: string | null;
  readonly reason: string | null;
  readonly ip: string | null;
  /** JSON array. */
  readonly delegationIds: string | null;
  readonly clientId: string | null;
}

export const filterFieldsOf = (row: StreamEventRow): FilterFields => ({
  id: row.id,
  type: row.type,
  agentId: row.agent_id,
  userId: row.user_id,
  action: row.action,
  resource: row.resource,
  result: row.result,
  reason: row.reason,
  ip: row.ip,
  delegationIds: row.delegation_ids,
  clientId: clientOf(row.decided, row.change),
});

function hasOneOf(fields: FilterFields, { field, values }: Condition): boolean {
  switch (field) {
    case 'delegationId': {
      return storedIds(fields.delegationIds).some((id) => values.includes(id));
    }
    case 'resource': {
      const { resource } = fields;
      return resource !== null && values.some((wanted) => matchesResource(resource, wanted));
    }
    default: {
      const value = fields[field];
      return value !== null && values.includes(value);
    }
  }
}

/** Returns whether a row meets all conditions. The index gives the same results. */
export const matches = (fields: FilterFields, where: readonly Condition[]): boolean =>
  where.every((condition) => hasOneOf(fields, condition) !== (condition.not === true));
