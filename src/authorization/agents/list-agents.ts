import type { Caller } from '../../access/caller.ts';
import { afterCursor, cutPage } from '../../http/page.ts';
import { validationFailed } from '../../kernel/errors.ts';
import type { Platform } from '../../platform.ts';
import { toAgent } from './agent.ts';
import { type Agent, type AgentFilter, isAgentId } from './schema.ts';
import { findAgents } from './store.ts';

export interface AgentPage {
  readonly agents: Agent[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** Agents within the caller's reach, oldest first. 400 VALIDATION_FAILED for a foreign cursor. */
export async function listAgents(
  platform: Platform,
  caller: Caller,
  filter: AgentFilter,
  page: { limit: number; cursor?: string | undefined },
): Promise<AgentPage> {
  const now = platform.clock.now();
  const after = afterCursor(page.cursor);
  if (after !== undefined && !isAgentId(after))
    throw validationFailed([{ path: 'cursor', message: 'is not a cursor of this list' }]);
  // One more than asked for shows whether there is a next page.
  const { rows, next } = cutPage(
    await findAgents(platform.database.read, caller.visibility, { filter, after, limit: page.limit + 1 }, now),
    page.limit,
  );
  return { agents: rows.map((row) => toAgent(row, now)), next };
}
