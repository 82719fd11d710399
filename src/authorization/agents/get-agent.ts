import type { Caller } from '../../access/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { effectivePermissions, readChains } from '../permissions/index.ts';
import { toAgent } from './agent.ts';
import { lastUsed } from './last-used.ts';
import type { Agent, EffectivePermission } from './schema.ts';
import { getAgentRow } from './store.ts';

/** 404 AGENT_NOT_FOUND if the caller may not see the agent. */
export async function getAgent(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  caller: Caller,
  id: Id<'agent'>,
): Promise<Agent> {
  return toAgent(await getAgentRow(database.read, caller.visibility, id), clock.now());
}

/**
 * Returns the current permissions of the agent and the chain of each; none for a revoked or expired agent. `complete`
 * is false if a limit was reached. 404 AGENT_NOT_FOUND.
 */
export async function getEffectivePermissions(
  platform: Pick<Platform, 'clock' | 'database' | 'reader'>,
  caller: Caller,
  id: Id<'agent'>,
): Promise<{ permissions: EffectivePermission[]; complete: boolean }> {
  const db = platform.database.read;
  await getAgentRow(db, caller.visibility, id);
  const { permissions, complete } = effectivePermissions(await readChains(db, id), platform.clock.now());
  const times = await lastUsed(platform, id, permissions);
  const shown = permissions.map((permission, i) => {
    const at = times[i] ?? null;
    return { ...permission, lastUsedAt: at === null ? null : isoTime(at) };
  });
  return { permissions: shown, complete };
}
