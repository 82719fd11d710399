import { z } from 'zod';
import { PageQuery } from '../../http/page.ts';
import { isoTimestamp, text } from '../../kernel/json.ts';
import { NewPassword } from '../passwords/password.ts';
import { Session } from '../sessions/index.ts';
import { AnyEmail, Email } from './email.ts';

const Name = text(200);
export const Role = z.enum(['user', 'admin']);

/** Ids of external users are theirs to choose. */
const UserId = text(128);
/** What cannot be an id is the id of no user, and is never sent to the database. */
export const isUserId = (id: string): boolean => UserId.safeParse(id).success;

/** Contract, section 10. */
export const User = z
  .object({
    id: z.string(),
    email: z
      .string()
      .nullable()
      .meta({ description: 'null: a user of the embedding application, who does not sign in here.' }),
    name: z.string().nullable(),
    role: Role,
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
const CallbackUrl = z
  .string()
  .max(16_384)
  .optional()
  .meta({ format: 'uri-reference', description: 'Where the link of the mail leads in the end; on a trusted origin.' });

export const SignUpRequest = SignUp.extend({
  inviteToken: Token.optional().meta({
    description: 'From the link of an invitation; the address has to be the invited one.',
  }),
  callbackURL: CallbackUrl,
}).meta({ id: 'SignUpRequest' });
export type SignUpRequest = z.output<typeof SignUpRequest>;

/** For endpoints that send a mail if there is somebody to send it to. */
export const AskForMail = z.strictObject({ email: Email, callbackURL: CallbackUrl }).meta({ id: 'AskForMailRequest' });
export type AskForMail = z.output<typeof AskForMail>;

/** The same answer whatever there is. */
export const Done = z.object({ status: z.literal(true) }).meta({ id: 'Done' });

export const UseLink = z.strictObject({ token: Token }).meta({ id: 'UseLinkRequest' });
export const LinkQuery = z.object({ token: Token.default('') });

export const ChangePassword = z
  .strictObject({ currentPassword: z.string().max(16_384).meta({ format: 'password' }), newPassword: NewPassword })
  .meta({ id: 'ChangePasswordRequest' });
/** Loose on purpose: the page's form shows what is wrong with the password. */
export const UseReset = z
  .strictObject({ token: Token, newPassword: z.string().max(16_384).meta({ format: 'password' }) })
  .meta({ id: 'ResetPasswordRequest' });
export const ResetPassword = z.strictObject({ token: Token, newPassword: NewPassword });

export const CreateInvite = z
  .strictObject({ email: Email, role: Role.default('user'), tenantId: UserId.optional() })
  .meta({ id: 'CreateInviteRequest' });
export type CreateInvite = z.output<typeof CreateInvite>;

export const Invite = z
  .object({
    id: z.string(),
    email: z.string(),
    role: Role,
    tenantId: z.string().nullable(),
    invitedBy: z.string().meta({ description: 'The administrator who invited.' }),
    createdAt: isoTimestamp,
    expiresAt: isoTimestamp,
  })
  .meta({ id: 'Invite' });
export type Invite = z.output<typeof Invite>;
/** With the link, which is shown only here. */
export const NewInvite = Invite.extend({ url: z.string() }).meta({ id: 'NewInvite' });

export const SignIn = z
  .strictObject({
    email: AnyEmail,
    password: z.string().max(16_384).meta({ format: 'password' }),
    rememberMe: z
      .boolean()
      .default(true)
      .meta({ description: 'false: the browser forgets the cookie when it closes.' }),
  })
  .meta({ id: 'SignInRequest' });
export type SignIn = z.output<typeof SignIn>;

export const SignedIn = z
  .object({
    token: z
      .string()
      .meta({ description: 'The session token, also set as cookie; as Bearer it is the same credential.' }),
    user: User,
    secondFactorSetupRequired: z.literal(true).optional().meta({
      description:
        'users.requireSecondFactor applies to the person, who has none: this session can only set one up and sign out.',
    }),
  })
  .meta({ id: 'SignedIn' });

/** The first step was right, and the second one follows: POST /totp/verify with this token and a code. */
export const TwoFactorRequired = z
  .object({
    twoFactorRequired: z.literal(true),
    twoFactorMethods: z
      .array(z.enum(['totp']))
      .meta({ description: 'What POST /totp/verify takes; a backup code can take the place of a code.' }),
    twoFactorToken: z
      .string()
      .meta({ description: 'For POST /totp/verify: good for 10 minutes, 5 tries and one sign-in. No session yet.' }),
  })
  .meta({ id: 'TwoFactorRequired' });

export const SignUpAnswer = z.union([SignedIn, Done]);
export const SignInAnswer = z.union([SignedIn, TwoFactorRequired]);

export const SessionAndUser = z
  .object({
    session: Session.nullable().meta({ description: 'null when something other than a session proves the caller.' }),
    user: User,
  })
  .meta({ id: 'SessionAndUser' });
export type SessionAndUser = z.output<typeof SessionAndUser>;

export const ListUsers = PageQuery.extend({
  role: Role.optional(),
  tenantId: UserId.optional(),
  email: text(1024).optional().meta({ description: 'Exactly this address, in any spelling of case.' }),
});
export type UserFilter = Omit<z.output<typeof ListUsers>, 'limit' | 'cursor'>;

export const UpdateUser = z
  .strictObject({ role: Role.optional(), tenantId: UserId.nullable().optional(), name: Name.nullable().optional() })
  .meta({ id: 'UpdateUserRequest' });
export type UpdateUser = z.output<typeof UpdateUser>;

/** Loose on purpose: the page's form shows what is wrong, so values are looked at by the use case. */
export const SetupForm = z
  .strictObject({ token: z.string().max(1024), email: z.string().max(4096), password: z.string().max(16_384) })
  .meta({ id: 'SetupRequest' });
export const SetupInput = z.strictObject({ token: z.string(), email: Email, password: NewPassword });
