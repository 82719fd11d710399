import { z } from 'zod';
import { option, type Section } from '../lib/config.ts';

export const usersConfig = {
  signUp: option.oneOf(['open', 'closed'], {
    default: (c) => (c.production ? 'closed' : 'open'),
    defaultText: 'open in development, closed in production',
    description: 'Who may create an account.',
  }),
  allowExternalOwners: option.boolean({ default: false, description: 'An admin may name an ownerId that is not known yet; it becomes a bare user record.' }),
} satisfies Section;

export const adminConfig = {
  email: option.optionalString({ schema: z.email(), description: 'With admin.password: the first administrator, created when there is no user yet.' }),
  password: option.optionalString({ secret: true, schema: z.string().min(8).max(1024), description: 'Password of the first administrator.' }),
} satisfies Section;
