import { readDecided } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type EffectivePermission, patternMatches } from '../permissions/index.ts';

/** Allowed decisions that are looked at, newest first. */
const EXAMINED = 2000;
/** Most comparisons of a different call with a permission. */
const MAX_STEPS = 500_000;

/** Returns when each permission last allowed a call, among the newest decisions of the agent; otherwise null. */
export async function lastUsed(
  platform: Platform,
  agentId: string,
  permissions: readonly EffectivePermission[],
): Promise<(number | null)[]> {
  const where = [
    { field: 'type', values: ['audit'] },
    { field: 'agentId', values: [agentId] },
    { field: 'result', values: ['allowed'] },
  ] as const;
  const found: (number | null)[] = permissions.map(() => null);
  if (permissions.length === 0) return found;
  const keys = permissions.map(({ source }) => (source.type === 'own' ? null : JSON.stringify(source.delegationIds)));
  // Calls repeat: of equal ones only the newest counts.
  const seen = new Set<string>();
  for (const row of await platform.reader.page({ where }, EXAMINED)) {
    const { action, resource, delegation_ids: chain, timestamp } = row;
    if (action === null || resource === null) continue;
    const pattern = row.decided === null || chain !== null ? undefined : readDecided(row.decided).pattern;
    const call = JSON.stringify([action, resource, chain, pattern]);
    if (seen.has(call)) continue;
    seen.add(call);
    if (seen.size * permissions.length > MAX_STEPS) break;
    for (const [i, permission] of permissions.entries()) {
      if (found[i] !== null || keys[i] !== chain) continue;
      if (!permission.actions.includes(action) && !permission.actions.includes('*')) continue;
      if (pattern ? permission.resource === pattern : patternMatches(permission.resource, resource))
        found[i] = timestamp;
    }
  }
  return found;
}
