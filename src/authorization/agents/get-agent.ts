import type { Caller } from '../../access/caller.ts';
import type { Platform } from '../../platform.ts';
import { type EffectivePermissions, effectivePermissions, readChains } from '../permissions/index.ts';
import { toAgent } from './agent.ts';
import type { Agent } from './schema.ts';
import { getAgentRow } from './store.ts';

/** 404 AGENT_NOT_FOUND if the caller may not see the agent. */
export async function getAgent(platform: Platform, caller: Caller, id: string): Promise<Agent> {
  return toAgent(await getAgentRow(platform.database.read, caller.visibility, id), platform.clock.now());
}

/**
 * Returns what the agent may do now and by which chain: nothing for a revoked or expired agent. `complete` is false if
 * a bound was reached. 404 AGENT_NOT_FOUND.
 */
export async function getEffectivePermissions(
  platform: Platform,
  caller: Caller,
  id: string,
): Promise<EffectivePermissions> {
  const db = platform.database.read;
  await getAgentRow(db, caller.visibility, id);
  return effectivePermissions(await readChains(db, id), platform.clock.now());
}
