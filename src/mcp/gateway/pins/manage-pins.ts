import type { Changer } from '../../../access/caller.ts';
import { isoTime } from '../../../kernel/clock.ts';
import type { Platform } from '../../../platform.ts';
import type { Db, GatewayPinRow } from '../../../storage/index.ts';
import { GatewayErrors } from './errors.ts';
import type { GatewayTool } from './schema.ts';

interface StoredDefinition {
  readonly hash: string;
  readonly tool: Record<string, unknown>;
}

const definition = (hash: string, json: string): StoredDefinition => ({ hash, tool: JSON.parse(json) });

export const toTool = (row: GatewayPinRow): GatewayTool => ({
  name: row.tool,
  state: row.state,
  approved: row.approved_hash === null || row.approved === null ? null : definition(row.approved_hash, row.approved),
  seen: definition(row.seen_hash, row.seen),
  updatedAt: isoTime(row.updated_at),
});

/** Returns the tools of a server by name, at most `limit`, after the tool `after`. */
export async function listPins(
  db: Db,
  server: string,
  page: {
    readonly limit: number;
    readonly after: string | undefined;
    readonly state?: readonly GatewayPinRow['state'][] | undefined;
  },
): Promise<GatewayPinRow[]> {
  let query = db.selectFrom('gateway_pins').selectAll().where('server', '=', server);
  if (page.after !== undefined) query = query.where('tool', '>', page.after);
  if (page.state !== undefined) query = query.where('state', 'in', page.state);
  return query.orderBy('tool').limit(page.limit).execute();
}

/** Returns the number of tools by server and state. */
export const countPins = (db: Db): Promise<{ server: string; state: GatewayPinRow['state']; count: number }[]> =>
  db
    .selectFrom('gateway_pins')
    .select(['server', 'state'])
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .groupBy(['server', 'state'])
    .execute();

interface Decision {
  readonly server: string;
  readonly tool: string;
  readonly decision: 'approve' | 'block';
  /** Hash of the definition that the caller has reviewed. */
  readonly definition?: string | undefined;
}

/** Approves the definition that the server listed last, or blocks the tool. Throws 404 and 409 of GatewayErrors. */
export function decideTool(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Changer,
  decision: Decision,
): Promise<GatewayTool> {
  const { server, tool } = decision;
  return ledger.change(caller.actor, async (change) => {
    const { db, now, epoch } = change;
    await caller.reauthorize(db);
    const row = await db
      .selectFrom('gateway_pins')
      .selectAll()
      .where('server', '=', server)
      .where('tool', '=', tool)
      .executeTakeFirst();
    if (!row) throw GatewayErrors.GATEWAY_TOOL_NOT_FOUND();
    if (decision.definition !== undefined && decision.definition !== row.seen_hash)
      throw GatewayErrors.GATEWAY_TOOL_CHANGED();
    const after: GatewayPinRow =
      decision.decision === 'approve'
        ? { ...row, state: 'approved', approved_hash: row.seen_hash, approved: row.seen }
        : { ...row, state: 'blocked' };
    if (after.state === row.state && after.approved_hash === row.approved_hash) return toTool(row);
    Object.assign(after, { updated_at: now, policy_epoch: epoch });
    const { server: _server, tool: _tool, ...fields } = after;
    await db.updateTable('gateway_pins').set(fields).where('server', '=', server).where('tool', '=', tool).execute();
    change.invalidate();
    change.emit({
      type: 'gateway.tool_changed',
      data: { server, tool, state: after.state, definition: row.seen_hash },
      before: { state: row.state, approved: row.approved_hash },
      after: { state: after.state, approved: after.approved_hash },
    });
    return toTool(after);
  });
}

/** Records that the connections to a server end on all instances. Returns the recorded time. */
export function recordRestart({ ledger }: Pick<Platform, 'ledger'>, caller: Changer, name: string): Promise<number> {
  return ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    await caller.reauthorize(db);
    const before = await db
      .selectFrom('gateway_servers')
      .select('restarted_at')
      .where('name', '=', name)
      .executeTakeFirst();
    await db
      .insertInto('gateway_servers')
      .values({ name, baseline_at: null, restarted_at: now })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ restarted_at: now }))
      .execute();
    change.emit({
      type: 'gateway.restarted',
      data: { server: name },
      before: { restartedAt: before?.restarted_at ? isoTime(before.restarted_at) : null },
      after: { restartedAt: isoTime(now) },
    });
    return now;
  });
}
