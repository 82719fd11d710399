import { defineErrors } from '../../kernel/errors.ts';

export const AuditErrors = defineErrors({
  AUDIT_ENTRY_NOT_FOUND: [404, 'Audit entry not found.'],
  SEALED_RANGE_WITH_FILTERS: [
    400,
    '`fromSeq` and `toSeq` name all rows of a range, so they do not go with other filters.',
  ],
  TOO_MANY_SEARCHES: [503, 'Too many searches are running, in total or for this caller. Try again in a moment.'],
  TOO_MANY_EXPORTS: [
    503,
    'Too many exports are running, in total or for this caller. Try again when one has finished.',
  ],
});
