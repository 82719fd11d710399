import { defineErrors } from '../../kernel/errors.ts';

export const IssuerErrors = defineErrors({
  ISSUER_NOT_FOUND: [404, 'Issuer not found.'],
  ISSUER_IN_USE: [422, 'Another issuer has this name or this address.'],
  ISSUER_LIMIT_EXCEEDED: [422, 'The limit of issuers is reached. Delete one first.'],
  ISSUER_CONFIGURED: [409, 'The issuer is part of the configuration. Change it there.'],
});
