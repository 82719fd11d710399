import { LegateError } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import type { PasswordHash } from '../../kernel/secrets.ts';
import { type Change, changedFields } from '../../ledger/index.ts';
import type { Call } from '../../platform/route.ts';
import type { Platform } from '../../platform.ts';
import type { Db, UserRow } from '../../storage/index.ts';
import { endApiTokens } from '../api-tokens/end-api-tokens.ts';
import { revokeInvitesBy } from '../invites/invites.ts';
import { actAsPerson, type EndReason, endSessions } from '../sessions/index.ts';
import { resetAllFailures } from '../sign-in/attempts/attempts.ts';
import { findUser, searchColumns, toUser } from './store.ts';

/** The session of a request. `reauthorize` checks it again inside a change. */
export interface RequestSession {
  readonly userId: string;
  readonly reauthorize: (db: Db) => Promise<unknown>;
}

/** How a user proved that an e-mail address is theirs. */
export interface AddressProof {
  readonly ip: string | null;
  /** Session of the browser that sends the proof. */
  readonly session?: RequestSession | undefined;
  /**
   * The password and name chosen by the sender of this proof: at the sign-up whose mail was opened, or together with
   * the proof.
   */
  readonly chosen?: { readonly passwordHash: PasswordHash; readonly name?: string | null } | undefined;
}

/** Returns undefined if the request has no valid session. API tokens and other credentials do not count. */
export async function sessionOf(
  call: Pick<Call<unknown, unknown, unknown>, 'authenticateAs'>,
): Promise<RequestSession | undefined> {
  try {
    const { principal, reauthorize } = await call.authenticateAs('enrolling');
    return principal.kind === 'user' && principal.via === 'session'
      ? { userId: principal.userId, reauthorize }
      : undefined;
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/**
 * Marks the address of an account as verified, because its owner opened a mail sent to it.
 *
 * Anybody may have created the account and set it up earlier, so the first proof ends everything that was created
 * before: password, passkeys, sessions, API tokens, second factor, links and codes, open invitations, and, through the
 * reactions to `user.updated`, identities at providers, agent tokens and keys, grants, webhooks, connections of the
 * gateway and delegations across owners. Two things remain: the values in `proof.chosen`, and everything if the browser
 * that sends the proof is signed in to this account, because then its owner created it.
 *
 * Returns the updated row. Later proofs change nothing.
 */
export const markEmailVerified = async (
  platform: Pick<Platform, 'config'>,
  change: Change,
  row: UserRow,
  proof: AddressProof,
): Promise<UserRow> => (await proveAddress(platform, change, row, proof)).row;

/** Does the same, and also returns whether the proof ended what was created before. */
export async function proveAddress(
  platform: Pick<Platform, 'config'>,
  change: Change,
  row: UserRow,
  proof: AddressProof,
): Promise<{ row: UserRow; endsCredentials: boolean }> {
  if (change.actor.id === null) actAsPerson(platform, change, row.id, proof.ip);
  if (row.email_verified === 1) return { row, endsCredentials: false };
  const verified: UserRow = { ...row, email_verified: 1, updated_at: change.now };
  const stays = await isSignedIn(change, row.id, proof.session);
  const after: UserRow = stays
    ? verified
    : {
        ...verified,
        password_hash: proof.chosen?.passwordHash ?? null,
        name: proof.chosen?.name === undefined ? row.name : proof.chosen.name,
        two_factor_enabled: 0,
      };
  await change.db
    .updateTable('users')
    .set({
      email_verified: 1,
      password_hash: after.password_hash,
      name: after.name,
      ...searchColumns(after),
      two_factor_enabled: after.two_factor_enabled,
      updated_at: change.now,
    })
    .where('id', '=', row.id)
    .execute();
  if (stays) {
    change.emit({
      type: 'user.updated',
      userId: row.id,
      data: { userId: row.id, changed: ['emailVerified'] },
      ...changedFields(toUser(row), toUser(after)),
    });
    return { row: after, endsCredentials: false };
  }
  for (const table of ['totp_secrets', 'backup_codes', 'passkeys'] as const)
    await change.db.deleteFrom(table).where('user_id', '=', row.id).execute();
  await resetAllFailures(change, row.id, ['password', 'totp', 'backup-code']);
  await revokeInvitesBy(change, row.id);
  await deleteCredentials(platform, change, row.id, {
    reason: 'address-proved',
    ip: proof.ip,
    changed: ['emailVerified', 'credentials'],
    ...changedFields(
      { ...toUser(row), password: row.password_hash === null ? null : 'set' },
      { ...toUser(after), password: passwordAfter(row, after) },
    ),
  });
  return { row: after, endsCredentials: true };
}

/**
 * Returns whether a proof by this browser would end what has been set up on the account.
 * @param keepsPassword the link has the password of a sign-up
 */
export async function wouldEndCredentials(
  { read }: Platform['database'],
  { userId, keepsPassword }: { readonly userId: Id<'user'>; readonly keepsPassword: boolean },
  session: RequestSession | undefined,
): Promise<boolean> {
  if (session?.userId === userId) return false;
  const row = await findUser(read, userId);
  if (row?.email_verified !== 0) return false;
  if (row.password_hash !== null && !keepsPassword) return true;
  const has = async (table: 'passkeys' | 'totp_secrets' | 'api_tokens' | 'identities'): Promise<boolean> =>
    (await read.selectFrom(table).select('user_id').where('user_id', '=', userId).limit(1).execute()).length > 0;
  const agents = read.selectFrom('agents').select('id').where('owner_id', '=', userId).limit(1).execute();
  const invites = read.selectFrom('invites').select('id').where('invited_by', '=', userId).limit(1).execute();
  const found = await Promise.all([
    has('passkeys'),
    has('totp_secrets'),
    has('api_tokens'),
    has('identities'),
    agents.then((rows) => rows.length > 0),
    invites.then((rows) => rows.length > 0),
  ]);
  return found.includes(true);
}

interface Ended {
  readonly reason: EndReason;
  readonly ip: string | null;
  readonly changed: readonly string[];
  /** `before` and `after` of the event, without secrets. */
  readonly before: Record<string, unknown>;
  readonly after: Record<string, unknown>;
}

/**
 * Ends the credentials of a user: sessions, trusted devices, API tokens, and unused links and codes. The access of
 * applications ends in the reaction to the event.
 */
export async function deleteCredentials(
  platform: Pick<Platform, 'config'>,
  change: Change,
  userId: Id<'user'>,
  { reason, ip, changed, before, after }: Ended,
): Promise<void> {
  change.invalidate();
  await endSessions(platform, change, userId, { reason, ip });
  await endApiTokens(change, userId, reason);
  for (const table of ['trusted_devices', 'one_time_tokens', 'email_codes'] as const)
    await change.db.deleteFrom(table).where('user_id', '=', userId).execute();
  change.emit({ type: 'user.updated', userId, data: { userId, changed, reason }, before, after });
}

/** Shown in the event instead of the password. */
const passwordAfter = (row: UserRow, after: UserRow): string | null =>
  after.password_hash === null
    ? null
    : row.password_hash === null || after.password_hash === row.password_hash
      ? 'set'
      : 'changed';

async function isSignedIn({ db }: Change, userId: Id<'user'>, session: RequestSession | undefined): Promise<boolean> {
  if (session?.userId !== userId) return false;
  try {
    await session.reauthorize(db);
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof LegateError && (error.status === 401 || error.status === 403);
