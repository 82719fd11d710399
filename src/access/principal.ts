import type { SlotHolder } from '../kernel/slots.ts';
import { CommonErrors } from '../kernel/errors.ts';

/** Who is calling now, whatever proved it. */
export type Principal =
  | { readonly kind: 'anonymous' }
  | {
      readonly kind: 'user';
      readonly userId: string;
      readonly role: 'user' | 'admin';
      readonly tenantId: string | null;
      /** What proved it: a session (cookie or Bearer), an API token, or the embedder's own sign-in. */
      readonly via: 'session' | 'apiToken' | 'external';
      /** Session or API token id. */
      readonly credentialId: string | null;
      /** An API token may be narrowed; undefined is the whole power of the user. */
      readonly scopes: ReadonlySet<string> | undefined;
      readonly expiresAt: number | null;
      /** The person has to set up a second factor first (`users.requireSecondFactor`). */
      readonly secondFactorDue?: boolean;
    }
  | {
      readonly kind: 'agent';
      readonly agentId: string;
      readonly ownerId: string;
      readonly tenantId: string | null;
      readonly tokenHash: string;
    }
  | {
      /** An access token of our authorization server: an agent acting for a user within scopes. */
      readonly kind: 'accessToken';
      readonly agentId: string;
      /** The agent that acts for `agentId` with an exchanged token (RFC 8693, section 4.1); null for every other token. */
      readonly actorId: string | null;
      readonly userId: string;
      readonly clientId: string;
      readonly grantId: string;
      readonly scopes: ReadonlySet<string>;
      readonly expiresAt: number;
    };

export type UserPrincipal = Extract<Principal, { kind: 'user' }>;

/** For routes that let nobody but `user` or `admin` in. Throws 403. */
export function asUser(principal: Principal): UserPrincipal {
  if (principal.kind !== 'user') throw CommonErrors.FORBIDDEN();
  return principal;
}

/** The agent for which decisions are made when the caller names none: the actor of an exchanged token, not its subject. */
export function actingAgent(principal: Principal | null): string | undefined {
  if (principal?.kind === 'agent') return principal.agentId;
  return principal?.kind === 'accessToken' ? (principal.actorId ?? principal.agentId) : undefined;
}

/** Less than the whole power of a person: an agent token, an access token, or an API token with scopes. */
export const isNarrowed = (principal: Principal): boolean =>
  principal.kind === 'agent' ||
  principal.kind === 'accessToken' ||
  (principal.kind === 'user' && principal.scopes !== undefined);

export const ANONYMOUS: Principal = { kind: 'anonymous' };

/**
 * How far a principal sees on a route: everything, what one user owns, or one agent only. Every query of a store takes
 * a reach, so that what is out of reach is as if it did not exist.
 */
export type Visibility =
  | { readonly kind: 'all' }
  | { readonly kind: 'owner'; readonly userId: string }
  | { readonly kind: 'agent'; readonly agentId: string; readonly userId: string };

/** How far a list goes: a reach, or what of it the list was asked for. */
export type ListVisibility =
  | Visibility
  | { readonly kind: 'tenant'; readonly tenantId: string }
  | { readonly kind: 'nothing' };

/** The service's own resources, for which an agent can hold permissions. */
export type OwnResource =
  | 'legate:agents'
  | 'legate:audit'
  | 'legate:authorize'
  | 'legate:delegations'
  | 'legate:events'
  | 'legate:webhooks'
  | 'legate:costs'
  | 'legate:budgets'
  | 'legate:approvals'
  | 'legate:dashboard';

/** Who may call a route (contract, section 4). */
export type Access =
  /** Anyone, with or without a credential. */
  | 'public'
  /** A person or their unscoped API token: what is about themselves. */
  | 'user'
  /** As `user`, and also somebody who has to set up a second factor first: for what that takes, and for signing out. */
  | 'enrolling'
  | 'admin'
  | {
      /** The scope that an access token or a narrowed API token needs; none: those are refused. */
      readonly scope?: string;
      /** The own resource and action for which an agent may hold a permission. */
      readonly resource: OwnResource;
      readonly action: 'read' | 'write' | 'check';
      /** An agent without that permission may call for itself. */
      readonly self: boolean;
    };

/** Who a principal counts as where concurrent work is shared out. Administrators have no share: undefined. */
export function slotHolderOf(principal: Principal): SlotHolder | undefined {
  switch (principal.kind) {
    case 'anonymous':
      return undefined;
    case 'user':
      return principal.role === 'admin' ? undefined : { principal: principal.userId, owner: principal.userId };
    case 'agent':
      return { principal: principal.agentId, owner: principal.ownerId };
    case 'accessToken':
      return { principal: principal.agentId, owner: principal.userId };
  }
}
