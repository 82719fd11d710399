import type { Platform } from '../platform.ts';
import { type Caller, toAgent } from './agent.ts';
import { type Agent, type AgentFilter, decodeCursor, encodeCursor } from './schema.ts';
import { findAgents } from './store.ts';

export interface AgentPage {
  readonly agents: Agent[];
  /** Where the next page begins; undefined at the end. */
  readonly next: string | undefined;
}

/** Agents within the caller's reach, oldest first. 400 VALIDATION_FAILED for a foreign cursor. */
export async function listAgents(platform: Platform, caller: Caller, filter: AgentFilter, page: { limit: number; cursor?: string | undefined }): Promise<AgentPage> {
  const now = platform.clock.now();
  const after = page.cursor === undefined ? undefined : decodeCursor(page.cursor);
  // One more than asked for shows whether there is a next page.
  const rows = await findAgents(platform.database.read, caller.reach, { filter, after, limit: page.limit + 1 }, now);
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  return { agents: shown.map((row) => toAgent(row, now)), next: rows.length > shown.length && last ? encodeCursor(last.id) : undefined };
}
