import { defineModule } from '../../platform.ts';
import { AuditErrors } from './errors.ts';
import { auditRoutes } from './routes.ts';

export { type AuditApi, auditApi } from './api.ts';
export { toJsonText } from './entry.ts';
export { conditionsOf, filterOf, ListFilters, RowFilters, type RowQuery, rowIds } from './filters.ts';
export { checkPlace, PlaceQuery, readPage, withoutPlace } from './pages.ts';
export type { AuditEntry } from './schema.ts';

export const audit = defineModule({
  name: 'audit',
  description: 'The record of every decision, to query and to export.',
  routes: auditRoutes,
  errors: AuditErrors,
});
