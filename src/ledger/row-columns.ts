import type { StreamEventRow } from '../storage/index.ts';

export const COLUMNS = [
  'seq',
  'id',
  'type',
  'timestamp',
  'agent_id',
  'user_id',
  'action',
  'resource',
  'result',
  'reason',
  'duration_ms',
  'tokens_cost',
  'parameters',
  'ip',
  'user_agent',
  'delegation_ids',
  'data',
  'change',
  'decided',
] as const satisfies readonly (keyof StreamEventRow)[];
export type Columns = ValuesOf<typeof COLUMNS>;
type ValuesOf<Names extends readonly (keyof StreamEventRow)[]> = {
  readonly [I in keyof Names]: StreamEventRow[Names[I]];
};

/** Written out for speed: an export builds one object per row. */
export function toRow(columns: Columns): StreamEventRow {
  const [
    seq,
    id,
    type,
    timestamp,
    agent_id,
    user_id,
    action,
    resource,
    result,
    reason,
    duration_ms,
    tokens_cost,
    parameters,
    ip,
    user_agent,
    delegation_ids,
    data,
    change,
    decided,
  ] = columns;
  return {
    seq,
    id,
    type,
    timestamp,
    agent_id,
    user_id,
    action,
    resource,
    result,
    reason,
    duration_ms,
    tokens_cost,
    parameters,
    ip,
    user_agent,
    delegation_ids,
    data,
    change,
    decided,
  };
}
