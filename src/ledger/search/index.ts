/**
 * The search index of the ledger (docs/decisions/0035-a-columnar-index.md): `event-index.ts` follows the ledger,
 * `segment.ts` and `segment-files.ts` keep segments in memory and in the database, `scan.ts` finds matching rows, and
 * `counts.ts` counts them.
 */
export type { ColumnName } from './column.ts';
export { type Facets, facetsOf, histogramOf, type ResultCounts } from './counts.ts';
export { EventIndex } from './event-index.ts';
export {
  type Condition,
  type EntryFilter,
  type FilterFields,
  filterFieldsOf,
  MAX_PREFIX_SEGMENTS,
  matches,
  prefixOf,
} from './filter.ts';
export { compile, Scan, type Selection } from './scan.ts';
