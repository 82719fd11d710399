import { isNarrowed, type OwnResource, type Principal } from '../../access/principal.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { AgentRow, Db } from '../../storage/index.ts';
import {
  type CompiledAgent,
  counterIdentity,
  intersectPatterns,
  isUnconditional,
  liveDelegations,
  type Permission,
  policyCache,
} from '../permissions/index.ts';
import { permissionsOf } from './agent.ts';
import { AgentErrors } from './errors.ts';

/**
 * Limits of a narrowed credential (docs/decisions/0030): it must not create, change or rotate an agent that can do more
 * than itself, nor change the agent that it acts as. A person with all their rights and the application in process pass
 * all checks.
 */

/** The own resource and action that a scope grants. */
const OPENED_BY_SCOPE: Readonly<Record<string, readonly [OwnResource, action: string]>> = {
  'agents:read': ['legate:agents', 'read'],
  'agents:write': ['legate:agents', 'write'],
  'delegations:read': ['legate:delegations', 'read'],
  'delegations:write': ['legate:delegations', 'write'],
  'audit:read': ['legate:audit', 'read'],
  'events:read': ['legate:events', 'read'],
  authorize: ['legate:authorize', 'check'],
};

type Holds = (resource: string, action: string) => boolean;

/** Permissions for the service itself, or without a namespace. Only these are checked. */
const isFarReaching = ({ resource }: Permission): boolean => /^(legate|\*)(:|$)/.test(resource);

/** Returns a test for the far-reaching permissions that the credential has itself. */
async function heldBy({ stateOf }: Pick<Platform, 'stateOf'>, db: Db, principal: Principal): Promise<Holds> {
  if (principal.kind !== 'agent') {
    const scopes = principal.kind === 'anonymous' ? undefined : principal.scopes;
    const opened = [...(scopes ?? [])].flatMap((scope) => [OPENED_BY_SCOPE[scope] ?? []]);
    return (resource, action) => opened.some(([r, a]) => r === resource && a === action);
  }
  const agent = await stateOf(policyCache).current(db, principal.agentId);
  return (resource, action) => agent !== undefined && holdsItself(agent, resource, action);
}

/**
 * As in `mayUseOwnResource`, only own entries without constraints count, and for the service only patterns that name it
 * literally.
 */
const holdsItself = (agent: CompiledAgent, resource: string, action: string): boolean =>
  agent.index
    .match(resource)
    .some(
      (e) =>
        e.link === undefined &&
        isUnconditional(e.permission) &&
        (!resource.startsWith('legate') || e.permission.resource.startsWith('legate')) &&
        (e.actions === undefined || e.actions.has(action)),
    );

const isBeyond = (holds: Holds, permission: Permission): boolean =>
  isFarReaching(permission) && !permission.actions.every((action) => holds(permission.resource, action));

/** Throws 403 INSUFFICIENT_PERMISSIONS for permissions that a narrowed credential may not grant. */
export async function assertMayGrant(
  platform: Pick<Platform, 'stateOf'>,
  db: Db,
  principal: Principal,
  permissions: readonly Permission[],
): Promise<void> {
  if (!isNarrowed(principal) || !permissions.some(isFarReaching)) return;
  const holds = await heldBy(platform, db, principal);
  const at = permissions.findIndex((permission) => isBeyond(holds, permission));
  const refused = permissions[at];
  if (refused)
    throw AgentErrors.INSUFFICIENT_PERMISSIONS({
      message: 'The credential may not grant this permission, because it does not hold it itself.',
      details: { path: `permissions.${at}`, resource: refused.resource, actions: refused.actions },
    });
}

/** An exchanged token acts as two agents: the actor and the subject. */
const actsAs = (principal: Principal, agentId: Id<'agent'>): boolean =>
  (principal.kind === 'agent' && principal.agentId === agentId) ||
  (principal.kind === 'accessToken' && (principal.agentId === agentId || principal.actorId === agentId));

/** Throws 403 FORBIDDEN for the agent that the credential acts as. */
export function assertNotItself(principal: Principal, agentId: Id<'agent'>): void {
  if (actsAs(principal, agentId))
    throw CommonErrors.FORBIDDEN({ message: 'A credential may not change the agent that it acts as.' });
}

/**
 * Throws 403 FORBIDDEN for the agent that a narrowed credential acts as, and 403 INSUFFICIENT_PERMISSIONS for an agent
 * that holds more than the credential may grant, itself or by delegation.
 */
export async function assertMayChange(
  platform: Pick<Platform, 'stateOf'>,
  db: Db,
  principal: Principal,
  agent: AgentRow,
  now: number,
): Promise<void> {
  if (!isNarrowed(principal)) return;
  assertNotItself(principal, agent.id);
  const received = await db
    .selectFrom('delegations')
    .select('permissions')
    .where('to_agent', '=', agent.id)
    .where(liveDelegations(now))
    .execute();
  const all = [agent, ...received].flatMap(permissionsOf).filter(isFarReaching);
  if (all.length === 0) return;
  const holds = await heldBy(platform, db, principal);
  if (all.some((permission) => isBeyond(holds, permission)))
    throw AgentErrors.INSUFFICIENT_PERMISSIONS({ message: 'The agent may do more than the credential.' });
}

/**
 * Throws 403 INSUFFICIENT_PERMISSIONS if a narrowed credential removes constraints from an agent: each constrained
 * entry has to stay or become narrower, no new entry may allow what it restricts, and an entry with a limit on calls
 * keeps its resource and actions.
 */
export function assertKeepsConstraints(
  principal: Principal,
  row: Pick<AgentRow, 'permissions'>,
  after: readonly Permission[],
): void {
  if (!isNarrowed(principal)) return;
  const before = permissionsOf(row);
  for (const guarded of before) {
    if (isUnconditional(guarded)) continue;
    const overlapping = after.filter((p) => overlaps(p, guarded));
    const loosened = overlapping.some((p) => !keeps(p, guarded) && !before.some((b) => isSame(b, p)));
    if (loosened || !overlapping.some((p) => keeps(p, guarded))) throw mayNotRemove(guarded);
  }
  const raised = findRaisedCap(before, after);
  if (raised) throw mayNotRemove(raised);
}

const mayNotRemove = ({ resource, actions }: Permission): Error =>
  AgentErrors.INSUFFICIENT_PERMISSIONS({
    message: 'The credential may not remove constraints from an agent.',
    details: { resource, actions },
  });

const capOf = ({ constraints }: Permission): number => constraints?.maxCallsPerHour ?? Number.POSITIVE_INFINITY;
const isCapped = (permission: Permission): boolean => capOf(permission) !== Number.POSITIVE_INFINITY;

/**
 * Returns an entry whose limit on calls new entries would raise. Each entry with another resource, other actions or a
 * further ordinal has a counter of its own, which begins at 0, so next to a limited entry only limited entries with the
 * same counters remain, with limits no higher.
 */
function findRaisedCap(before: readonly Permission[], after: readonly Permission[]): Permission | undefined {
  const old = new Map(withCounters(before).map(({ counter, entry }) => [counter, entry]));
  const limited = before.filter(isCapped);
  for (const { counter, entry } of withCounters(after).filter(({ entry }) => isCapped(entry))) {
    const former = old.get(counter);
    // A former entry without a limit has counted nothing, so it may only become narrower itself.
    if (former && (isCapped(former) ? capOf(entry) <= capOf(former) : keeps(entry, former))) continue;
    const guarded = limited.find((one) => overlaps(entry, one));
    if (guarded) return guarded;
  }
  return undefined;
}

/** The entries with what makes their counters different. */
function withCounters(permissions: readonly Permission[]): { readonly counter: string; readonly entry: Permission }[] {
  const seen = new Map<string, number>();
  return permissions.map((entry) => {
    const identity = counterIdentity(entry);
    const ordinal = seen.get(identity) ?? 0;
    seen.set(identity, ordinal + 1);
    return { counter: `${ordinal}\n${identity}`, entry };
  });
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const overlaps = (a: Permission, b: Permission): boolean =>
  intersectPatterns(a.resource, b.resource) !== undefined &&
  (a.actions.includes('*') || b.actions.includes('*') || a.actions.some((action) => b.actions.includes(action)));

/** Whether an entry has every constraint of another, with a cap no higher. */
function keeps({ constraints: kept }: Permission, { constraints }: Permission): boolean {
  const { maxCallsPerHour, ...others } = constraints ?? {};
  if (maxCallsPerHour !== undefined && !((kept?.maxCallsPerHour ?? Number.POSITIVE_INFINITY) <= maxCallsPerHour))
    return false;
  return Object.entries(others).every(([key, value]) => isSame(kept?.[key as keyof typeof kept], value));
}
