import { z } from 'zod';
import { option, type Section } from '../../kernel/config.ts';
import { NewPassword } from '../passwords/password.ts';
import { Email } from './email.ts';

export const usersConfig = {
  signUp: option.oneOf(['open', 'invite', 'closed'], {
    default: (c) => (c.production ? 'closed' : 'open'),
    defaultText: 'open in development, closed in production',
    description:
      'Who can create an account: anyone (open), people an administrator invited (invite), or nobody (closed).',
  }),
  requireEmailVerification: option.boolean({
    default: false,
    description:
      'Refuse password sign-ins until the e-mail address is verified. Sign-up then does not reveal whether an ' +
      'address is in use. Needs mail.url in production.',
  }),
  resetPages: option.list({
    default: [],
    item: z.string().regex(/^\/(?!\/)[^?#\\\s]*$/, 'must be a path that begins with /, without a query'),
    description:
      "Paths of an application's own password reset pages on the origin of the base URL. POST /password/forgot " +
      'accepts them as callbackURL and sends its token there.',
  }),
  scimGroups: option.list({
    default: [],
    item: z
      .string()
      .max(400)
      .regex(
        /^.{1,200}=(role:(user|admin|auditor)|tenant:.{1,100})$/,
        'must be a displayName, an equals sign and role:<role> or tenant:<slug>, such as Staff=tenant:acme',
      ),
    description:
      'What SCIM groups give their members: `displayName=role:<role>` or `displayName=tenant:<slug>`. The strongest ' +
      'role applies. Groups created with a token of a tenant have no effect. A SCIM token can make administrators if ' +
      'a group gives that role; otherwise it cannot change the address of one.',
  }),
  passwords: option.oneOf(['on', 'off', 'adminsOnly'], {
    default: 'on',
    description:
      'Who can sign in with a password and set one: everybody, nobody, or administrators only. The others sign in ' +
      'with an identity provider, a passkey or by mail. The first administrator can always be created.',
  }),
  provision: option.boolean({
    default: false,
    description:
      'A person without an account gets one at the first sign-in with an identity provider that confirms an address ' +
      'of one of its `domains`. Without this setting, only invited people do.',
  }),
  requireSecondFactor: option.oneOf(['none', 'admins', 'all'], {
    default: 'none',
    description:
      'Who must have a second factor, an authenticator app or a passkey; admins includes auditors. Without one, ' +
      'their sessions can only set one up and sign out. Does not apply to API tokens and to users of the embedding ' +
      'application.',
  }),
  allowExternalOwners: option.boolean({
    default: false,
    description: 'Administrators may use an unknown ownerId; a user record without credentials is created for it.',
  }),
} satisfies Section;

export const adminConfig = {
  email: option.optionalString({
    schema: Email,
    description:
      'E-mail address of the first administrator, who is created if there is no user yet. Needs admin.password.',
  }),
  password: option.optionalString({
    secret: true,
    schema: NewPassword,
    description: 'Password of the first administrator.',
  }),
} satisfies Section;
