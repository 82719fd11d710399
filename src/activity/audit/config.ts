import { option, type Section } from '../../kernel/config.ts';

export const auditConfig = {
  redact: option.list({
    default: [],
    defaultText: 'secret-looking values',
    description: 'Additional keys whose values are redacted in recorded parameters.',
  }),
  eraseEntries: option.boolean({
    default: false,
    description:
      'Administrators may erase whole audit entries (POST /audit/erasures with `what: "entry"`), of which then only ' +
      'the place in the ledger stays provable.',
  }),
} satisfies Section;
