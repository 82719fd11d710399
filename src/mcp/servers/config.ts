import { z } from 'zod';
import { option, type Section } from '../../kernel/config.ts';
import { resourceProblem } from '../../kernel/resource.ts';

const resource = z.string().superRefine((value, ctx) => {
  const problem = resourceProblem(value);
  if (problem) ctx.addIssue({ code: 'custom', message: problem });
});

export const mcpConfig = {
  issuer: option.optionalString({
    schema: resource
      .refine((url) => !url.endsWith('/'), 'must not end with a slash')
      .refine((url) => !url.includes('?'), 'must not have a query'),
    defaultText: '<baseUrl>',
    description:
      'Identifier of the authorization server in metadata, tokens and challenges. Clients store their registration ' +
      'under it, so a change disconnects them.',
  }),
  audience: option.optionalString({
    schema: resource,
    defaultText: '<baseUrl>',
    description: 'Identifier of this API as a protected resource, for which access tokens are issued.',
  }),
} satisfies Section;
