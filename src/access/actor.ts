import type { Id } from '../kernel/ids.ts';
import type { Enterprise, Principal, Workload } from './principal.ts';

export const ACTOR_KINDS = ['user', 'agent', 'accessToken', 'apiToken', 'application', 'system'] as const;

/** Who changed something (contract 17.1). Part of every event, as `actor`. */
export interface Actor {
  /** `application`: the embedding application, in process. `system`: the clock and upkeep. */
  readonly kind: (typeof ACTOR_KINDS)[number];
  /**
   * Of the user, the agent (also for an access token) or the API token; `application` and `system` name themselves.
   * null: a request without a credential.
   */
  readonly id: string | null;
  /** Address of the request, where it is known and `multiSession.trackIp` allows it. */
  readonly ip?: string;
  /** For an access token, and for a client that acts for itself: the OAuth client. */
  readonly clientId?: string;
  /** For an access token: the grant that it was issued for. For a consent: the grant that its code leads to. */
  readonly grantId?: string;
  /** The owner of an API token, the person an access token acts for, the user that the application acts for. */
  readonly userId?: string;
  /** For an access token that a workload got. */
  readonly workload?: Workload;
  /** For an access token that an identity provider allowed. */
  readonly enterprise?: Enterprise;
  /** The reason given in the request (contract 17.2). */
  readonly reason?: string;
}

/** For events without a caller, such as those of upkeep and of the anomaly detector. */
export const SYSTEM: Actor = { kind: 'system', id: 'system' };

/** A request without a credential. Its user may become known while it is answered. */
export const UNKNOWN: Actor = { kind: 'user', id: null };

/** The embedding application, on behalf of one of its users if it names one. */
export const application = (userId?: Id<'user'>): Actor => ({
  kind: 'application',
  id: 'application',
  ...(userId === undefined ? {} : { userId }),
});

const from = (ip: string | null): { ip?: string } => (ip === null ? {} : { ip });

/** A person who has just authenticated with a password, a link or a code rather than a credential. */
export const person = (userId: Id<'user'>, ip: string | null): Actor => ({ kind: 'user', id: userId, ...from(ip) });

/** The caller of a request. */
export function actorOf(principal: Principal, ip: string | null): Actor {
  switch (principal.kind) {
    case 'anonymous':
      return { ...UNKNOWN, ...from(ip) };
    case 'user':
      return principal.via === 'apiToken'
        ? { kind: 'apiToken', id: principal.credentialId, userId: principal.userId, ...from(ip) }
        : person(principal.userId, ip);
    case 'agent':
      return { kind: 'agent', id: principal.agentId, ...from(ip) };
    case 'accessToken':
      return {
        kind: 'accessToken',
        id: principal.actorId ?? principal.agentId,
        userId: principal.userId,
        clientId: principal.clientId,
        grantId: principal.grantId,
        ...(principal.workload ? { workload: principal.workload } : {}),
        ...(principal.enterprise ? { enterprise: principal.enterprise } : {}),
        ...from(ip),
      };
  }
}
