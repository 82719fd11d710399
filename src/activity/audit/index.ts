import { defineModule } from '../../platform.ts';
import { AuditErrors } from './errors.ts';
import { runningExports } from './export-audit.ts';
import { auditRoutes } from './routes.ts';
import { searchSlots } from './search-slots.ts';

/**
 * Reads the audit log: lists, exports, counts and explanations (specification 4.4, contracts 8 and 17).
 *
 * Guarantees: an entry can be read as soon as its decision is answered; filters apply before limits; callers see only
 * what they may see; an export has constant memory and never looks complete if it is not.
 *
 * Entries are written by `src/ledger`, and decisions are explained by `authorization/permissions`.
 */
export { type AuditApi, auditApi, exportSealedInProcess, type SealedExportOptions } from './api.ts';
export { toJsonText } from './entry.ts';
export { conditionsOf, filterOf, ListFilters, RowFilters, type RowQuery, rowIds } from './filters.ts';
export { checkPlace, PlaceQuery, readPage, withoutPlace } from './pages.ts';
export { getAuditRow } from './query.ts';
export type { AuditEntry } from './schema.ts';

export const audit = defineModule({
  name: 'audit',
  description: 'The record of every decision, to query and to export.',
  routes: auditRoutes,
  errors: AuditErrors,
  states: [searchSlots, runningExports],
});
