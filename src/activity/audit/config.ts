import { option, type Section } from '../../kernel/config.ts';

export const auditConfig = {
  redact: option.list({
    default: [],
    defaultText: 'secret-looking values',
    description: 'Further keys whose values are redacted in recorded parameters, beside those that look secret.',
  }),
} satisfies Section;
