import { defineErrors } from '../../kernel/errors.ts';

export const AuditErrors = defineErrors({
  AUDIT_ENTRY_NOT_FOUND: [404, 'There is no such audit entry.'],
  TOO_MANY_EXPORTS: [503, 'Too many exports are running, in all or of this caller. Try again when one has ended.'],
});
