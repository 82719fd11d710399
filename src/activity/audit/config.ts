import { option, type Section } from '../../kernel/config.ts';

export const auditConfig = {
  redact: option.list({
    default: [],
    defaultText: 'secret-looking values',
    description: 'Additional keys whose values are redacted in recorded parameters.',
  }),
  retentionDays: option.integer({
    default: 0,
    defaultText: 'no end',
    min: 0,
    max: 36_500,
    description:
      'Days after which all rows of the ledger are deleted, audit entries included, within a day. 0: audit entries ' +
      'are kept. What is kept stays provable.',
  }),
  eraseEntries: option.boolean({
    default: false,
    description:
      'Administrators may erase whole audit entries (POST /audit/erasures with `what: "entry"`), of which then only ' +
      'the place in the ledger stays provable.',
  }),
} satisfies Section;
