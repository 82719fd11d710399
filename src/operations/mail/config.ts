import { z } from 'zod';
import { option, type Section } from '../../kernel/config.ts';

export const mailConfig = {
  url: option.optionalString({
    secret: true,
    schema: z
      .string()
      .refine(
        (url) => /^smtps?:\/\/\S+$/.test(url) && URL.canParse(url),
        'must be smtp://user:password@host:587 or smtps://user:password@host, with special characters encoded ' +
          '(# is %23)',
      ),
    description:
      'SMTP server for mail. Without it, links and codes are printed to the log in development, and endpoints that ' +
      'need mail answer 503 in production.',
  }),
  from: option.optionalString({
    defaultText: '<service.name>@<host of the base URL>',
    schema: z
      .string()
      .max(320)
      .regex(/^[^\r\n]*@[^\r\n@]+$/, 'must be an e-mail address, such as Legate <legate@example.com>'),
    description: 'Sender of all mail.',
  }),
} satisfies Section;
