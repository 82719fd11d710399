import { defineErrors } from '../../kernel/errors.ts';

export const AuditErrors = defineErrors({
  AUDIT_ENTRY_NOT_FOUND: [404, 'No such audit entry.'],
  TOO_MANY_EXPORTS: [503, 'Too many exports are running. Try again when one has ended.'],
});
