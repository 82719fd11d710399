import { newId } from '../../src/kernel/ids.ts';
import type { Json } from './service.ts';
import { newWorldOf, type World } from './world.ts';

export type AuditWorld = World<'a' | 'b', 'alice' | 'bob'>;

export function world(): Promise<AuditWorld> {
  const permissions = [
    { resource: 'db:*', actions: ['read'] },
    { resource: 'capped', actions: ['read'], constraints: { maxCallsPerHour: 0 } },
  ];
  return newWorldOf({ alice: {}, bob: {} }, { a: { permissions }, b: { owner: 'bob', permissions } });
}

export const list = (w: AuditWorld, query: string, as: { token: string } = w.alice) =>
  w.t.call('GET', `/audit${query}`, { as });

export const ids = async (w: AuditWorld, query: string, as?: { token: string }) =>
  (await list(w, query, as)).body.map((e: Json) => e.id);

/** Inserts rows directly into the ledger, because creating them over HTTP would take long. */
export async function fill(
  w: AuditWorld,
  rows: number,
  make: (i: number) => Partial<Record<string, unknown>> = () => ({}),
): Promise<void> {
  const db = w.t.legate.platform.database.write;
  const head = await db.selectFrom('head').selectAll().executeTakeFirstOrThrow();
  const chunk: Json[] = [];
  for (let i = 0; i < rows; i++) {
    const now = Math.max(head.clock, w.t.clock.now());
    chunk.push({
      seq: head.seq + 1 + i,
      id: newId('audit', now),
      type: 'audit',
      timestamp: now,
      agent_id: w.a.id,
      user_id: w.alice.id,
      action: 'read',
      resource: `db:${i}`,
      result: 'allowed',
      duration_ms: 0.5,
      parameters: '{}',
      ...make(i),
    });
    if (chunk.length === 1000 || i === rows - 1) await db.insertInto('stream_events').values(chunk.splice(0)).execute();
  }
  await db
    .updateTable('head')
    .set({ seq: head.seq + rows, clock: Math.max(head.clock, w.t.clock.now()) })
    .execute();
}
