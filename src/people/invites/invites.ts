import type { Changer } from '../../access/caller.ts';
import { DAY_MS, isoTime } from '../../kernel/clock.ts';
import { type Id, isId, newId } from '../../kernel/ids.ts';
import { newSecret, secretHash, secretKind } from '../../kernel/secrets.ts';
import type { Change, NewEvent } from '../../ledger/index.ts';
import { brandOf, type Language } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, InviteRow } from '../../storage/index.ts';
import { linkTo } from '../sign-in/callback-url.ts';
import { mailTexts } from '../sign-in/mail-texts.ts';
import { tenantExists } from '../tenants/index.ts';
import { emailKey } from '../users/email.ts';
import { UserErrors } from '../users/errors.ts';
import type { CreateInvite, Invite } from '../users/schema.ts';
import { findUser, findUserByEmail } from '../users/store.ts';

const LIFETIME_MS = 7 * DAY_MS;

const toInvite = (row: InviteRow): Invite => ({
  id: row.id,
  email: row.email,
  role: row.role,
  tenantId: row.tenant_id,
  invitedBy: row.invited_by,
  createdAt: isoTime(row.created_at),
  expiresAt: isoTime(row.expires_at),
});

/**
 * Creates an invitation for an e-mail address, mails its link if mail is configured, and returns the link once. For
 * administrators. Replaces an earlier invitation of the same address. 409 INVITES_CLOSED, 422 EMAIL_IN_USE,
 * TENANT_UNKNOWN.
 */
export async function createInvite(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger' | 'mailer'>,
  input: CreateInvite,
  caller: Changer & { readonly userId: Id<'user'> },
  language: Language,
): Promise<Invite & { url: string }> {
  if (platform.config.users.signUp === 'closed') throw UserErrors.INVITES_CLOSED();
  const token = newSecret('oneTimeToken');
  const row = await platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    await caller.reauthorize(db);
    if (await findUserByEmail(db, input.email)) throw UserErrors.EMAIL_IN_USE({ details: { path: 'email' } });
    if (input.tenantId !== undefined && !(await tenantExists(db, input.tenantId)))
      throw UserErrors.TENANT_UNKNOWN({ details: { path: 'tenantId' } });
    const invite: InviteRow = {
      id: newId('invite', now),
      token_hash: secretHash(token),
      email: input.email,
      email_key: emailKey(input.email),
      role: input.role,
      tenant_id: input.tenantId ?? null,
      invited_by: caller.userId,
      created_at: now,
      expires_at: now + LIFETIME_MS,
    };
    const replaced = await db
      .deleteFrom('invites')
      .where((eb) => eb.or([eb('email_key', '=', invite.email_key), eb('expires_at', '<=', now)]))
      .returningAll()
      .execute();
    for (const old of replaced) if (old.expires_at > now) change.emit(inviteRevoked(old, 'replaced'));
    await db.insertInto('invites').values(invite).execute();
    change.emit({
      type: 'invite.created',
      userId: invite.invited_by,
      data: { inviteId: invite.id, role: invite.role },
      after: { ...toInvite(invite) },
    });
    return invite;
  });
  const url = linkTo(platform, '/account/sign-up', { invite: token, email: row.email });
  if (platform.mailer.available)
    platform.mailer.send({ to: row.email, link: url, ...mailTexts(language).invite(brandOf(platform), url) });
  return { ...toInvite(row), url };
}

/** Returns the invitations that can still be accepted, oldest first. For administrators. */
export async function listInvites(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  page: { limit: number; after: Id<'invite'> | undefined },
): Promise<Invite[]> {
  let query = openInvites(database.read, clock.now());
  if (page.after !== undefined) query = query.where('id', '>', page.after);
  return (await query.orderBy('id').limit(page.limit).execute()).map(toInvite);
}

/** Withdraws an invitation. For administrators. 404 INVITE_NOT_FOUND. */
export async function deleteInvite(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Changer,
  id: Id<'invite'>,
): Promise<void> {
  if (!isId('invite', id)) throw UserErrors.INVITE_NOT_FOUND();
  await ledger.change(caller.actor, async (change) => {
    const { db } = change;
    await caller.reauthorize(db);
    const row = await db.deleteFrom('invites').where('id', '=', id).returningAll().executeTakeFirst();
    if (!row) throw UserErrors.INVITE_NOT_FOUND();
    change.emit(inviteRevoked(row, 'revoked'));
  });
}

/** Deletes the invitations that a user created. */
export async function revokeInvitesBy(change: Change, userId: Id<'user'>): Promise<void> {
  const rows = await change.db.deleteFrom('invites').where('invited_by', '=', userId).returningAll().execute();
  for (const row of rows) change.emit(inviteRevoked(row, 'inviter-ended'));
}

export const inviteAccepted = (row: InviteRow, userId: Id<'user'>): NewEvent => ({
  type: 'invite.accepted',
  userId: row.invited_by,
  data: { inviteId: row.id, userId, role: row.role },
  before: { ...toInvite(row) },
});

const inviteRevoked = (row: InviteRow, reason: string): NewEvent => ({
  type: 'invite.revoked',
  userId: row.invited_by,
  data: { inviteId: row.id, reason },
  before: { ...toInvite(row) },
});

/**
 * Consumes an invitation; of concurrent requests exactly one succeeds. 403 INVITE_INVALID unless it is for this
 * address and its creator may still invite.
 */
export async function consumeInvite({ db, now }: Change, token: string, email: string): Promise<InviteRow> {
  const row =
    secretKind(token) === 'oneTimeToken'
      ? await db
          .deleteFrom('invites')
          .where('token_hash', '=', secretHash(token))
          .where('email_key', '=', emailKey(email))
          .where('expires_at', '>', now)
          .returningAll()
          .executeTakeFirst()
      : undefined;
  if (!row || !(await mayInvite(db, row.invited_by))) throw UserErrors.INVITE_INVALID();
  return row;
}

/**
 * Consumes the invitation of an address that an identity provider has confirmed; of concurrent sign-ins exactly one
 * gets it. Returns undefined if there is none, or its creator may no longer invite.
 */
export async function consumeInviteOf({ db, now }: Change, email: string): Promise<InviteRow | undefined> {
  const row = await openInvites(db, now).where('email_key', '=', emailKey(email)).executeTakeFirst();
  if (!row || !(await mayInvite(db, row.invited_by))) return undefined;
  return db.deleteFrom('invites').where('id', '=', row.id).returningAll().executeTakeFirst();
}

/** Returns the invitation of a link, without consuming it. 403 INVITE_INVALID if nobody can accept it. */
export async function getInvite(
  { clock, database: { read } }: Pick<Platform, 'clock' | 'database'>,
  token: string,
): Promise<InviteRow> {
  const row =
    secretKind(token) === 'oneTimeToken'
      ? await openInvites(read, clock.now()).where('token_hash', '=', secretHash(token)).executeTakeFirst()
      : undefined;
  if (!row || !(await mayInvite(read, row.invited_by))) throw UserErrors.INVITE_INVALID();
  return row;
}

const openInvites = (db: Db, now: number) => db.selectFrom('invites').selectAll().where('expires_at', '>', now);

/**
 * True for administrators stored here, and for users of the embedding application: they have no password and no role
 * here, and the application checked their role when they sent the invitation.
 */
async function mayInvite(db: Db, userId: Id<'user'>): Promise<boolean> {
  const inviter = await findUser(db, userId);
  if (!inviter) return !isId('user', userId);
  return inviter.role === 'admin' || inviter.email_key === null;
}
