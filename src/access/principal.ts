import { CommonErrors } from '../kernel/errors.ts';
import type { Id } from '../kernel/ids.ts';
import type { SecretHash } from '../kernel/secrets.ts';
import type { SlotHolder } from '../kernel/slots.ts';

/** A program that its platform identifies (contract 23.4): issuer and subject of its token. */
export interface Workload {
  readonly issuer: string;
  readonly subject: string;
}

/** The identity provider that let a client act for a person (contract 23.5), and its name for the person. */
export interface Enterprise {
  readonly issuer: string;
  readonly subject: string;
}

/** An `auditor` sees everything that an administrator sees, and can change only their own account and credentials. */
export const ROLES = ['user', 'admin', 'auditor'] as const;
export type Role = (typeof ROLES)[number];

/** The caller, independent of the credential that proved it. */
export type Principal =
  | { readonly kind: 'anonymous' }
  | {
      readonly kind: 'user';
      readonly userId: Id<'user'>;
      readonly role: Role;
      readonly tenantId: Id<'tenant'> | null;
      /** The credential that proved it: a session (cookie or Bearer), an API token, or the embedder's own sign-in. */
      readonly via: 'session' | 'apiToken' | 'external';
      /** Session or API token id. */
      readonly credentialId: string | null;
      /** Scopes of a narrowed API token; undefined: all rights of the user. */
      readonly scopes: ReadonlySet<string> | undefined;
      readonly expiresAt: number | null;
      /** The user has to set up a second factor first (`users.requireSecondFactor`). */
      readonly secondFactorDue?: boolean;
    }
  | {
      readonly kind: 'agent';
      readonly agentId: Id<'agent'>;
      readonly ownerId: Id<'user'>;
      readonly tenantId: Id<'tenant'> | null;
      readonly tokenHash: SecretHash;
      readonly expiresAt: number | null;
    }
  | {
      /** An access token of our authorization server: an agent acting for a user within scopes. */
      readonly kind: 'accessToken';
      readonly agentId: Id<'agent'>;
      /**
       * The agent that acts for `agentId` with an exchanged token (RFC 8693, section 4.1); null for every other token.
       */
      readonly actorId: Id<'agent'> | null;
      readonly userId: Id<'user'>;
      readonly clientId: Id<'client'>;
      readonly grantId: Id<'grant'>;
      readonly scopes: ReadonlySet<string>;
      /** When the token, one of its grants or one of their agents expires, whichever is first, in ms. */
      readonly expiresAt: number;
      /** The workload whose assertion was exchanged for the token (contract 23.4). */
      readonly workload?: Workload;
      /** The identity provider that allowed the token in place of the person (contract 23.5). */
      readonly enterprise?: Enterprise;
    };

export type UserPrincipal = Extract<Principal, { kind: 'user' }>;

/** For routes with access `user` or `admin`. Throws 403. */
export function asUser(principal: Principal): UserPrincipal {
  if (principal.kind !== 'user') throw CommonErrors.FORBIDDEN();
  return principal;
}

/**
 * The agent that decisions are about if the caller names none. For an exchanged token it is the actor, not the subject.
 */
export function actingAgent(principal: Principal | null): Id<'agent'> | undefined {
  if (principal?.kind === 'agent') return principal.agentId;
  return principal?.kind === 'accessToken' ? (principal.actorId ?? principal.agentId) : undefined;
}

/** Has less than all rights of a person: an agent token, an access token, or an API token with scopes. */
export const isNarrowed = (principal: Principal): boolean =>
  principal.kind === 'agent' ||
  principal.kind === 'accessToken' ||
  (principal.kind === 'user' && principal.scopes !== undefined);

export const ANONYMOUS: Principal = { kind: 'anonymous' };

/** Returns the user to whom everything belongs that the principal creates; undefined for an anonymous one. */
export function ownerIdOf(principal: Principal): Id<'user'> | undefined {
  if (principal.kind === 'anonymous') return undefined;
  return principal.kind === 'agent' ? principal.ownerId : principal.userId;
}

/**
 * How far a principal sees on a route: everything, what one user owns, or one agent. Every query of a store takes a
 * visibility, so that invisible rows look as if they did not exist.
 */
export type Visibility =
  | { readonly kind: 'all' }
  | { readonly kind: 'owner'; readonly userId: Id<'user'> }
  | { readonly kind: 'agent'; readonly agentId: Id<'agent'>; readonly userId: Id<'user'> };

/** The visibility of a list, restricted by its filter. */
export type ListVisibility =
  | Visibility
  | { readonly kind: 'owners'; readonly userIds: readonly Id<'user'>[] }
  | { readonly kind: 'tenants'; readonly tenantIds: readonly Id<'tenant'>[] }
  | { readonly kind: 'nothing' };

/** Resources of the service itself, for which an agent can hold permissions. */
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
  /** A person, or their API token without scopes: for what concerns themselves. */
  | 'user'
  /** As `user`, and also a person who has yet to set up a second factor: for that set-up and for signing out. */
  | 'enrolling'
  | 'admin'
  /** As `admin`, and also an administrator's API token that is narrowed to the scope `scim`. */
  | 'scim'
  | {
      /** The scope, or one of those, that an access token or a narrowed API token needs. Absent: these are refused. */
      readonly scope?: string | readonly [string, ...string[]];
      /** The own resource and action for which an agent may hold a permission. */
      readonly resource: OwnResource;
      readonly action: 'read' | 'write' | 'check';
      /** Whether an agent without that permission may call for itself. */
      readonly self: boolean;
    };

/**
 * What a request changes: anything, nothing, or only the account and the credentials of the caller. An auditor may not
 * send the first kind.
 */
export type Effect = 'any' | 'none' | 'ownAccount';

/**
 * Returns the holder and owner to whom concurrent work of a principal is attributed; undefined for administrators, who
 * have no share.
 */
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
