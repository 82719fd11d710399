import { type Condition, MAX_PREFIX_SEGMENTS, readDecided } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { type EffectivePermission, isApprovalStep, patternMatches } from '../permissions/index.ts';

/** Number of the newest allowed decisions of the agent that are examined for all permissions together. */
const EXAMINED = 2000;
/** Maximum number of comparisons of distinct calls with a permission. */
const MAX_STEPS = 500_000;
/** Entries have arguments, which are large and not needed. */
const COLUMNS = ['seq', 'timestamp', 'action', 'resource', 'reason', 'delegation_ids', 'decided'] as const;
type Allowed = Pick<StreamEventRow, (typeof COLUMNS)[number]>;
/**
 * Maximum number of permissions without a call among these that are searched separately, and the number of decisions
 * examined for each.
 */
const SOUGHT = 50;
const EXAMINED_EACH = 50;

/**
 * Returns when each permission last allowed a call; null if that is not found within the limits above. For an agent
 * with fewer allowed decisions than {@link EXAMINED}, null means never. The record of a decision names the delegation
 * but not which of its permissions allowed the call, so the call counts for each that matches.
 */
export async function lastUsed(
  { reader }: Pick<Platform, 'reader'>,
  agentId: string,
  permissions: readonly EffectivePermission[],
): Promise<(number | null)[]> {
  const allowed: Condition[] = [
    { field: 'type', values: ['audit'] },
    { field: 'agentId', values: [agentId] },
    { field: 'result', values: ['allowed'] },
  ];
  const found: (number | null)[] = permissions.map(() => null);
  if (permissions.length === 0) return found;
  const wanted = permissions.map((permission) => ({ permission, chain: chainOf(permission) }));
  // Calls repeat, so only the newest of equal calls is examined.
  const seen = new Set<string>();
  const newest = await reader.newest({ where: allowed }, EXAMINED, COLUMNS);
  let reached: number | undefined;
  for (const row of newest) {
    const call = callOf(row);
    const key = JSON.stringify(call);
    if (call && !seen.has(key)) {
      if ((seen.size + 1) * permissions.length > MAX_STEPS) break;
      seen.add(key);
      for (const [i, one] of wanted.entries()) if (found[i] === null && isBy(one, call)) found[i] = row.timestamp;
    }
    reached = row.seq;
  }
  if (newest.length < EXAMINED && reached === newest.at(-1)?.seq) return found;
  const missing = wanted.flatMap((one, i) => (found[i] === null ? [{ ...one, i }] : [])).slice(0, SOUGHT);
  for (const { i, ...one } of missing) {
    const where = [...allowed, ...conditionsOf(one.permission)];
    const rows = await reader.newest({ where, beforeSeq: reached }, EXAMINED_EACH, COLUMNS);
    const row = rows.find((row) => {
      const call = callOf(row);
      return call && isBy(one, call);
    });
    if (row) found[i] = row.timestamp;
  }
  return found;
}

interface Wanted {
  readonly permission: EffectivePermission;
  /** The delegation as recorded in the ledger; null: the agent's own permission. */
  readonly chain: string | null;
}

const chainOf = ({ source }: EffectivePermission): string | null =>
  source.type === 'own' ? null : JSON.stringify(source.delegationIds);

interface AllowedCall {
  readonly action: string;
  readonly resource: string;
  readonly chain: string | null;
  /** The resource of the agent's own entry that allowed the call; undefined in older entries. */
  readonly pattern: string | undefined;
}

/** Returns undefined for a step of an approval, which is not a call. */
function callOf({ action, resource, reason, delegation_ids: chain, decided }: Allowed): AllowedCall | undefined {
  if (action === null || resource === null || isApprovalStep(reason)) return undefined;
  return {
    action,
    resource,
    chain,
    pattern: decided === null || chain !== null ? undefined : readDecided(decided).pattern,
  };
}

const isBy = ({ permission, chain }: Wanted, call: AllowedCall): boolean =>
  chain === call.chain &&
  (permission.actions.includes(call.action) || permission.actions.includes('*')) &&
  (call.pattern ? permission.resource === call.pattern : patternMatches(permission.resource, call.resource));

/** The conditions that every call of a permission meets, as far as the index supports them. */
function conditionsOf({ resource, actions }: EffectivePermission): Condition[] {
  const segments = resource.split(':');
  const wildcard = segments.indexOf('*');
  const literal = wildcard === -1 ? segments : segments.slice(0, Math.min(wildcard, MAX_PREFIX_SEGMENTS));
  return [
    ...(actions.includes('*') ? [] : [{ field: 'action', values: actions } as const]),
    ...(literal.length === 0
      ? []
      : [{ field: 'resource', values: [wildcard === -1 ? resource : `${literal.join(':')}:*`] } as const]),
  ];
}
