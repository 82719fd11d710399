import type { Platform } from '../platform.ts';
import { type Caller, permissionsOf, statusOf, toAgent } from './agent.ts';
import type { Agent, EffectivePermission } from './schema.ts';
import { findAgent } from './store.ts';

/** 404 AGENT_NOT_FOUND for what is not the caller's to see. */
export async function getAgent(platform: Platform, caller: Caller, id: string): Promise<Agent> {
  return toAgent(await findAgent(platform.database.read, caller.reach, id), platform.clock.now());
}

/** What the agent may do at this moment, so nothing once it is revoked or expired. 404 AGENT_NOT_FOUND. */
export async function getEffectivePermissions(platform: Platform, caller: Caller, id: string): Promise<EffectivePermission[]> {
  const row = await findAgent(platform.database.read, caller.reach, id);
  if (statusOf(row, platform.clock.now()) !== 'active') return [];
  return permissionsOf(row).map((permission) => ({ ...permission, source: { type: 'own' } }));
}
