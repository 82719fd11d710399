import { option, type Section } from '../../kernel/config.ts';

export const auditConfig = {
  redact: option.list({
    default: [],
    defaultText: 'secret-looking values',
    description: 'Additional keys whose values are redacted in recorded parameters.',
  }),
} satisfies Section;
