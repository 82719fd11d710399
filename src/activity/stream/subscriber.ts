import { type Role, slotHolderOf, type Visibility } from '../../access/principal.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { CommonErrors, invalidCredential } from '../../kernel/errors.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import type { SlotHolder } from '../../kernel/slots.ts';
import { findUser } from '../../people/users/index.ts';
import type { Call } from '../../platform/route.ts';
import type { Platform } from '../../platform.ts';
import type { StreamQuery } from './schema.ts';
import { takeTicket } from './ticket.ts';

export const mayFollow = { scope: 'events:read', resource: 'legate:events', action: 'read', self: true } as const;

/** Lifetime of a stream of a user whom the application signed in: Legate cannot detect a sign-out there. */
const EXTERNAL_MS = HOUR_MS;

/** The caller of a stream, its visibility, and the function that checks both again. */
export interface Subscriber {
  /** The owner and caller whose share of the connections this stream counts against; undefined if there is none. */
  readonly holder: SlotHolder | undefined;
  readonly visibility: Visibility;
  readonly expiresAt: number | null;
  readonly reauthorize: () => Promise<Visibility>;
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
    return { holder: undefined, visibility: ALL, expiresAt: null, reauthorize: async () => ALL };
  const proved = async (credential?: string): Promise<Subscriber> => {
    const { principal, visibility, reauthorize } = await authenticateAs(mayFollow, credential);
    if (principal.kind === 'user' && principal.via === 'external') {
      // Authenticating the original request again asks the application.
      const expiresAt = platform.clock.now() + EXTERNAL_MS;
      const reauthorize = async (): Promise<Visibility> => {
        if (platform.clock.now() >= expiresAt) throw CommonErrors.UNAUTHORIZED();
        return (await authenticateAs(mayFollow)).visibility;
      };
      return { holder: slotHolderOf(principal), visibility, expiresAt, reauthorize };
    }
    const assertOwnerActive = async (): Promise<void> => {
      if (principal.kind === 'agent' && (await isSuspended(platform, principal.ownerId)))
        throw invalidCredential('owner-suspended');
    };
    await assertOwnerActive();
    return {
      holder: slotHolderOf(principal),
      visibility,
      expiresAt: 'expiresAt' in principal ? principal.expiresAt : null,
      reauthorize: async () => {
        await assertOwnerActive();
        return reauthorize(platform.database.read);
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
    const reauthorize = async (): Promise<Visibility> => {
      if (platform.clock.now() >= expiresAt) throw CommonErrors.UNAUTHORIZED();
      return visibility;
    };
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

const ALL: Visibility = { kind: 'all' };

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
  platform: Pick<Platform, 'database' | 'validateStreamToken'>,
  token: string,
): Promise<Subscriber | undefined> {
  const validate = platform.validateStreamToken;
  const visibility = async (): Promise<Visibility | undefined> => {
    const id = await validate?.(token);
    if (!id) return undefined;
    const db = platform.database.read;
    if (id.startsWith('agt_')) {
      const agentId = asId('agent', id);
      const agent = await db.selectFrom('agents').select('owner_id').where('id', '=', agentId).executeTakeFirst();
      if (agent && (await isSuspended(platform, agent.owner_id))) return undefined;
      return { kind: 'agent', agentId, userId: agent?.owner_id ?? asId('user', '') };
    }
    const userId = asId('user', id);
    const user = await findUser(db, userId);
    if (user && user.suspended_at !== null) return undefined;
    return user && seesAll(user.role) ? ALL : { kind: 'owner', userId };
  };
  const first = await visibility();
  if (!first) return undefined;
  const reauthorize = async (): Promise<Visibility> => {
    const again = await visibility();
    if (!again) throw CommonErrors.UNAUTHORIZED();
    return again;
  };
  return { holder: holderOfView(first), visibility: first, expiresAt: null, reauthorize };
}
