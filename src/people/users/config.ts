import { z } from 'zod';
import { option, type Section } from '../../kernel/config.ts';
import { NewPassword } from '../passwords/password.ts';
import { Email } from './email.ts';

export const usersConfig = {
  signUp: option.oneOf(['open', 'invite', 'closed'], {
    default: (c) => (c.production ? 'closed' : 'open'),
    defaultText: 'open in development, closed in production',
    description: 'Who may create an account: anyone, who was invited by an administrator, nobody.',
  }),
  requireEmailVerification: option.boolean({
    default: false,
    description:
      'Nobody signs in with a password before the e-mail address is verified, and sign-up does not tell whether an address is taken. Needs mail.url in production.',
  }),
  resetPages: option.list({
    default: [],
    item: z.string().regex(/^\/(?!\/)[^?#\\\s]*$/, 'must be a path that begins with /, without a query'),
    description:
      'Paths on the origin of the base URL where an application has a page of its own for new passwords, to which POST /password/forgot may send its token (callbackURL).',
  }),
  requireSecondFactor: option.oneOf(['none', 'admins', 'all'], {
    default: 'none',
    description:
      'Who has to have a second factor. Their sessions can do nothing but set one up and sign out until they have; API tokens and users of the embedding application are not held to it.',
  }),
  allowExternalOwners: option.boolean({
    default: false,
    description: 'An admin may name an ownerId that is not known yet; it becomes a bare user record.',
  }),
} satisfies Section;

export const adminConfig = {
  email: option.optionalString({
    schema: Email,
    description: 'With admin.password: the first administrator, created when there is no user yet.',
  }),
  password: option.optionalString({
    secret: true,
    schema: NewPassword,
    description: 'Password of the first administrator.',
  }),
} satisfies Section;
