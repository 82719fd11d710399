import { defineErrors } from '../../kernel/errors.ts';

export const AuditErrors = defineErrors({
  AUDIT_ENTRY_NOT_FOUND: [404, 'Audit entry not found.'],
  TOO_MANY_SEARCHES: [503, 'Too many searches are running, in total or for this caller. Try again in a moment.'],
  TOO_MANY_EXPORTS: [
    503,
    'Too many exports are running, in total or for this caller. Try again when one has finished.',
  ],
});
