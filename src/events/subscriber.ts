import type { Reach } from '../lib/access.ts';
import { HOUR_MS } from '../lib/clock.ts';
import { CommonErrors, invalidCredential } from '../lib/error.ts';
import type { Call } from '../lib/route.ts';
import type { Platform } from '../platform.ts';
import { findUser } from '../users/index.ts';
import type { StreamQuery } from './schema.ts';
import { takeTicket } from './ticket.ts';

export const MayFollow = { scope: 'events:read', resource: 'legate:events', action: 'read', self: true } as const;

/** A stream of somebody whom the application signed in ends so late at most, and is opened anew. By way of a ticket that sign-in cannot be asked again. */
const EXTERNAL_MS = HOUR_MS;

/** Who listens, how far they see, and how that is proved again. */
export interface Subscriber {
  readonly reach: Reach;
  readonly expiresAt: number | null;
  readonly prove: () => Promise<Reach>;
}

type Asking = Pick<Call<undefined, StreamQuery, undefined>, 'query' | 'request' | 'proveAs'>;

/**
 * The subscriber behind a request: by ticket, by token in the query, by header or cookie, in this order; or by the function that
 * the application configured (specification 5.7). Throws 401 or 403.
 */
export async function subscriberOf(platform: Platform, { query, request, proveAs }: Asking): Promise<Subscriber> {
  if (!platform.config.events.requireAuth) return { reach: ALL, expiresAt: null, prove: async () => ALL };
  const proved = async (credential?: string): Promise<Subscriber> => {
    const { principal, reach, confirm } = await proveAs(MayFollow, credential);
    if (principal.kind === 'user' && principal.via === 'external') {
      // The application is asked again by the request itself. Of a sign-out there it does not tell us: hence the end.
      const expiresAt = platform.clock.now() + EXTERNAL_MS;
      const prove = async (): Promise<Reach> => {
        if (platform.clock.now() >= expiresAt) throw CommonErrors.UNAUTHORIZED();
        return (await proveAs(MayFollow)).reach;
      };
      return { reach, expiresAt, prove };
    }
    return { reach, expiresAt: 'expiresAt' in principal ? principal.expiresAt : null, prove: () => confirm(platform.database.read) };
  };
  if (query.ticket !== undefined) {
    const holder = await takeTicket(platform, query.ticket);
    if (!holder) throw invalidCredential();
    if ('credential' in holder) return proved(holder.credential);
    const user = holder.external;
    if (user.kind !== 'user') throw invalidCredential();
    const reach: Reach = user.role === 'admin' ? ALL : { kind: 'owner', userId: user.userId };
    const expiresAt = platform.clock.now() + EXTERNAL_MS;
    const prove = async (): Promise<Reach> => {
      if (platform.clock.now() >= expiresAt) throw CommonErrors.UNAUTHORIZED();
      return reach;
    };
    return { reach, expiresAt, prove };
  }
  const token = query.token ?? /^bearer +(.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]?.trim();
  const own = token === undefined ? undefined : await byOwnFunction(platform, token);
  if (own) return own;
  const subscriber = await proved(query.token);
  return subscriber;
}

const ALL: Reach = { kind: 'all' };

/** `events.validateToken` of the application: a user id or an agent id, or null. */
async function byOwnFunction(platform: Platform, token: string): Promise<Subscriber | undefined> {
  const validate = platform.validateStreamToken;
  const reach = async (): Promise<Reach | undefined> => {
    const id = await validate?.(token);
    if (!id) return undefined;
    const db = platform.database.read;
    if (id.startsWith('agt_')) {
      const agent = await db.selectFrom('agents').select('owner_id').where('id', '=', id).executeTakeFirst();
      return { kind: 'agent', agentId: id, userId: agent?.owner_id ?? '' };
    }
    return (await findUser(db, id))?.role === 'admin' ? ALL : { kind: 'owner', userId: id };
  };
  const first = await reach();
  if (!first) return undefined;
  const prove = async (): Promise<Reach> => {
    const again = await reach();
    if (!again) throw CommonErrors.UNAUTHORIZED();
    return again;
  };
  return { reach: first, expiresAt: null, prove };
}
