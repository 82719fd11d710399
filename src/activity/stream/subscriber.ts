import { type Principal, type Role, slotHolderOf, type Visibility } from '../../access/principal.ts';
import { isActive } from '../../authorization/agents/index.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { CommonErrors, invalidCredential } from '../../kernel/errors.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import type { SlotHolder } from '../../kernel/slots.ts';
import { findUser } from '../../people/users/index.ts';
import type { Call } from '../../platform/route.ts';
import type { Platform } from '../../platform.ts';
import type { Allowed } from './connection.ts';
import type { StreamQuery } from './schema.ts';
import { takeTicket } from './ticket.ts';

export const mayFollow = { scope: 'events:read', resource: 'legate:events', action: 'read', self: true } as const;

/** Lifetime of a stream of a user whom the application signed in: Legate cannot detect a sign-out there. */
const EXTERNAL_MS = HOUR_MS;

/** The caller of a stream, what it may see until when, and the function that checks that again. */
export interface Subscriber extends Allowed {
  /** The owner and caller whose share of the connections this stream counts against; undefined if there is none. */
  readonly holder: SlotHolder | undefined;
  readonly reauthorize: () => Promise<Allowed>;
}

type Asking = Pick<Call<undefined, StreamQuery, undefined>, 'query' | 'request' | 'authenticateAs'>;

/**
 * Returns the subscriber of a request: by ticket, token in the query, header or cookie, in this order, or by the
 * function that the application configured (specification 5.7). Throws 401 or 403.
 */
export async function subscriberOf(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'secrets' | 'validateStreamToken'>,
  { query, request, authenticateAs }: Asking,
): Promise<Subscriber> {
  if (!platform.config.events.requireAuth)
    return { holder: undefined, ...EVERYTHING, reauthorize: async () => EVERYTHING };
  const proved = async (credential?: string): Promise<Subscriber> => {
    const { principal, visibility, proveAgain } = await authenticateAs(mayFollow, credential);
    if (principal.kind === 'user' && principal.via === 'external') {
      // Authenticating the original request again asks the application.
      const expiresAt = platform.clock.now() + EXTERNAL_MS;
      const reauthorize = async (): Promise<Allowed> => {
        if (platform.clock.now() >= expiresAt) throw CommonErrors.UNAUTHORIZED();
        await assertActive(platform, principal.userId);
        return { visibility: (await authenticateAs(mayFollow)).visibility, expiresAt };
      };
      return { holder: slotHolderOf(principal), visibility, expiresAt, reauthorize };
    }
    const assertOwnerActive = async (): Promise<void> => {
      if (principal.kind === 'agent') await assertActive(platform, principal.ownerId);
    };
    await assertOwnerActive();
    return {
      holder: slotHolderOf(principal),
      visibility,
      expiresAt: expiryOf(principal),
      reauthorize: async () => {
        await assertOwnerActive();
        const again = await proveAgain(platform.database.read);
        return { visibility: again.visibility, expiresAt: expiryOf(again.principal) };
      },
    };
  };
  if (query.ticket !== undefined) {
    const holder = await takeTicket(platform, query.ticket);
    if (!holder) throw invalidCredential('stream-ticket-unknown');
    if ('credential' in holder) return proved(holder.credential);
    const user = holder.external;
    if (user.kind !== 'user') throw invalidCredential('stream-ticket-unknown');
    const visibility: Visibility = seesAll(user.role) ? ALL : { kind: 'owner', userId: user.userId };
    const expiresAt = platform.clock.now() + EXTERNAL_MS;
    const reauthorize = async (): Promise<Allowed> => {
      if (platform.clock.now() >= expiresAt) throw CommonErrors.UNAUTHORIZED();
      await assertActive(platform, user.userId);
      return { visibility, expiresAt };
    };
    await assertActive(platform, user.userId);
    return { holder: slotHolderOf(user), visibility, expiresAt, reauthorize };
  }
  const token = query.token ?? /^bearer +(.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]?.trim();
  const own = token === undefined ? undefined : await byOwnFunction(platform, token);
  if (own) return own;
  return proved(query.token);
}

async function isSuspended({ database }: Pick<Platform, 'database'>, userId: Id<'user'>): Promise<boolean> {
  return ((await findUser(database.read, userId))?.suspended_at ?? null) !== null;
}

async function assertActive(platform: Pick<Platform, 'database'>, userId: Id<'user'>): Promise<void> {
  if (await isSuspended(platform, userId)) throw invalidCredential('owner-suspended');
}

const ALL: Visibility = { kind: 'all' };
const EVERYTHING: Allowed = { visibility: ALL, expiresAt: null };

const expiryOf = (principal: Principal): number | null => ('expiresAt' in principal ? principal.expiresAt : null);

const seesAll = (role: Role): boolean => role !== 'user';

const holderOfView = (visibility: Visibility): SlotHolder | undefined =>
  visibility.kind === 'all'
    ? undefined
    : {
        principal: visibility.kind === 'agent' ? visibility.agentId : visibility.userId,
        owner: visibility.userId,
      };

/** `events.validateToken` of the application: a user id or an agent id, or null. */
async function byOwnFunction(
  platform: Pick<Platform, 'clock' | 'database' | 'validateStreamToken'>,
  token: string,
): Promise<Subscriber | undefined> {
  const validate = platform.validateStreamToken;
  const allowed = async (): Promise<Allowed | undefined> => {
    const id = await validate?.(token);
    if (!id) return undefined;
    const db = platform.database.read;
    if (id.startsWith('agt_')) {
      const agentId = asId('agent', id);
      const agent = await db
        .selectFrom('agents')
        .select(['owner_id', 'expires_at', 'revoked_at'])
        .where('id', '=', agentId)
        .executeTakeFirst();
      if (agent && !isActive(agent, platform.clock.now())) return undefined;
      if (agent && (await isSuspended(platform, agent.owner_id))) return undefined;
      const visibility: Visibility = { kind: 'agent', agentId, userId: agent?.owner_id ?? asId('user', '') };
      return { visibility, expiresAt: agent?.expires_at ?? null };
    }
    const userId = asId('user', id);
    const user = await findUser(db, userId);
    if (user && user.suspended_at !== null) return undefined;
    return user && seesAll(user.role) ? EVERYTHING : { visibility: { kind: 'owner', userId }, expiresAt: null };
  };
  const first = await allowed();
  if (!first) return undefined;
  const reauthorize = async (): Promise<Allowed> => {
    const again = await allowed();
    if (!again) throw CommonErrors.UNAUTHORIZED();
    return again;
  };
  return { holder: holderOfView(first.visibility), ...first, reauthorize };
}
