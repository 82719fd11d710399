import { z } from 'zod';
import { ROLES } from '../../access/principal.ts';
import { PageQuery } from '../../http/page.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { isoTimestamp, text } from '../../kernel/json.ts';
import { anyOf } from '../../kernel/query.ts';
import { shownSecret } from '../../kernel/secret-schema.ts';
import { NewPassword } from '../passwords/password.ts';
import { Session } from '../sessions/index.ts';
import { AnyEmail, Email } from './email.ts';

const Name = text(200);
export const Role = z
  .enum(ROLES)
  .meta({ description: 'auditor: sees everything that an administrator sees, and can change only their own account.' });

/** The embedding application chooses the ids of its users. */
const UserId = idOf('user', text(128));
const TenantId = idOf('tenant', text(128));
/** Checked before any query: text that cannot be an id never reaches the database. */
export const isUserId = (id: string): boolean => UserId.safeParse(id).success;

const UserStatus = z.enum(['active', 'suspended']).meta({
  description:
    'suspended: the user cannot sign in, their API tokens do not work, and every decision about their agents is ' +
    'OWNER_SUSPENDED.',
});

/** Contract, section 10. */
export const User = z
  .object({
    id: z.string(),
    email: z
      .string()
      .nullable()
      .meta({ description: 'null for a user of the embedding application, who does not sign in here.' }),
    name: z.string().nullable(),
    role: Role,
    status: UserStatus,
    emailVerified: z.boolean(),
    twoFactorEnabled: z.boolean(),
    tenantId: z.string().nullable(),
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp,
  })
  .meta({ id: 'User' });
export type User = z.output<typeof User>;

export const SignUp = z.strictObject({ email: Email, password: NewPassword, name: Name.optional() });
export type SignUp = z.output<typeof SignUp>;

const Token = z.string().max(1024);
const CallbackUrl = z.string().max(16_384).optional().meta({
  format: 'uri-reference',
  description: 'Address to which the browser is redirected after the link is used. Must be on a trusted origin.',
});

export const SignUpRequest = SignUp.extend({
  inviteToken: Token.optional().meta({
    description: 'Token from the link of an invitation. The e-mail address must be the invited one.',
  }),
  callbackURL: CallbackUrl,
}).meta({ id: 'SignUpRequest' });
export type SignUpRequest = z.output<typeof SignUpRequest>;

/** Body of the endpoints that send a mail if there is an account. */
export const MailRequest = z.strictObject({ email: Email, callbackURL: CallbackUrl }).meta({ id: 'AskForMailRequest' });
export type MailRequest = z.output<typeof MailRequest>;

/** The same answer in every case. */
export const Done = z.object({ status: z.literal(true) }).meta({ id: 'Done' });

export const UseLink = z.strictObject({ token: Token }).meta({ id: 'UseLinkRequest' });
export const LinkQuery = z.object({ token: Token.default('') });

export const ChangePassword = z
  .strictObject({ currentPassword: z.string().max(16_384).meta({ format: 'password' }), newPassword: NewPassword })
  .meta({ id: 'ChangePasswordRequest' });
/** Deliberately loose: the use case checks the password, so that the form can show the problem. */
export const UseReset = z
  .strictObject({ token: Token, newPassword: z.string().max(16_384).meta({ format: 'password' }) })
  .meta({ id: 'ResetPasswordRequest' });
export const ResetPassword = z.strictObject({ token: Token, newPassword: NewPassword });

export const CreateInvite = z
  .strictObject({ email: Email, role: Role.default('user'), tenantId: TenantId.optional() })
  .meta({ id: 'CreateInviteRequest' });
export type CreateInvite = z.output<typeof CreateInvite>;

export const Invite = z
  .object({
    id: z.string(),
    email: z.string(),
    role: Role,
    tenantId: z.string().nullable(),
    invitedBy: z.string().meta({ description: 'The administrator who sent the invitation.' }),
    createdAt: isoTimestamp,
    expiresAt: isoTimestamp,
  })
  .meta({ id: 'Invite' });
export type Invite = z.output<typeof Invite>;
/** Includes the link, which is shown only in this answer. */
export const NewInvite = Invite.extend({ url: shownSecret() }).meta({ id: 'NewInvite' });

export const SignIn = z
  .strictObject({
    email: AnyEmail,
    password: z.string().max(16_384).meta({ format: 'password' }),
    rememberMe: z
      .boolean()
      .default(true)
      .meta({ description: 'false: the browser deletes the cookie when it closes.' }),
  })
  .meta({ id: 'SignInRequest' });
export type SignIn = z.output<typeof SignIn>;

export const SignedIn = z
  .object({
    token: shownSecret('The session token, also set as a cookie. It works as a Bearer token too.'),
    user: User,
    secondFactorSetupRequired: z
      .literal(true)
      .optional()
      .meta({
        description:
          'The user must set up a second factor (users.requireSecondFactor). Until then this session can only do ' +
          'that and sign out.',
      }),
  })
  .meta({ id: 'SignedIn' });

/** The first step succeeded. The second one is POST /totp/verify with this token and a code. */
export const TwoFactorRequired = z
  .object({
    twoFactorRequired: z.literal(true),
    twoFactorMethods: z
      .array(z.enum(['totp']))
      .meta({ description: 'Methods that POST /totp/verify accepts. A backup code is always accepted too.' }),
    twoFactorToken: shownSecret(
      'For POST /totp/verify: valid for 10 minutes, 5 attempts and one sign-in. It is not a session token.',
    ),
  })
  .meta({ id: 'TwoFactorRequired' });

export const SignUpAnswer = z.union([SignedIn, Done]);
export const SignInAnswer = z.union([SignedIn, TwoFactorRequired]);

export const SessionAndUser = z
  .object({
    session: Session.nullable().meta({ description: 'null if the caller did not use a session.' }),
    user: User,
  })
  .meta({ id: 'SessionAndUser' });
export type SessionAndUser = z.output<typeof SessionAndUser>;

export const ListUsers = PageQuery.extend({
  role: anyOf(Role),
  tenantId: anyOf(TenantId),
  email: anyOf(text(1024), 'Exactly this address, ignoring case.'),
  q: text(200).optional().meta({ description: 'Words, or beginnings of words, of name and address. All must occur.' }),
});
export type UserFilter = Omit<z.output<typeof ListUsers>, 'limit' | 'cursor'>;

export const UpdateUser = z
  .strictObject({
    role: Role.optional(),
    tenantId: TenantId.nullable().optional(),
    name: Name.nullable().optional(),
    status: UserStatus.optional(),
  })
  .meta({ id: 'UpdateUserRequest' });
export type UpdateUser = z.output<typeof UpdateUser>;

/** Deliberately loose: the use case checks the values, so that the form can show the problems. */
export const SetupForm = z
  .strictObject({ token: z.string().max(1024), email: z.string().max(4096), password: z.string().max(16_384) })
  .meta({ id: 'SetupRequest' });
export const SetupInput = z.strictObject({ token: z.string(), email: Email, password: NewPassword });

export const DeleteUser = z.strictObject({
  erase: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .describe('Whether the ledger also erases personal data of the user.'),
});
