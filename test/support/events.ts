import { asId } from '../../src/kernel/ids.ts';
import type { Json, TestService } from './service.ts';

export interface RecordedEvent {
  readonly type: string;
  readonly agentId: string | null;
  readonly userId: string | null;
  readonly timestamp: number;
  readonly data: Json;
}

/** Returns all events except decisions in the order of the ledger, optionally only those about one agent. */
export async function eventsOf(t: TestService, agentId?: string): Promise<RecordedEvent[]> {
  let query = t.legate.platform.database.read
    .selectFrom('stream_events')
    .select(['type', 'agent_id', 'user_id', 'timestamp', 'data'])
    .where('type', '<>', 'audit')
    .orderBy('seq');
  if (agentId !== undefined) query = query.where('agent_id', '=', asId('agent', agentId));
  const rows = await query.execute();
  return rows.map((row) => ({
    type: row.type,
    agentId: row.agent_id,
    userId: row.user_id,
    timestamp: row.timestamp,
    data: JSON.parse(row.data ?? 'null'),
  }));
}
