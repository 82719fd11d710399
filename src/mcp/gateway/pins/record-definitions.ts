import { chunk } from '../../../kernel/chunk.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Db, GatewayPinRow } from '../../../storage/index.ts';
import type { Tool } from '../definitions.ts';

/** Maximum number of recorded tools of one server. Further ones are withheld. */
const MAX_TOOLS = 5000;
const MAX_DEFINITION_CHARS = 256_000;
const ROWS_AT_ONCE = 100;

export interface ListedTool {
  readonly tool: Tool;
  readonly hash: string;
}

/** Returns whether a definition can be recorded. Others are never approved. */
export const isPinnable = (tool: Tool): boolean =>
  /^[^\p{C}]{1,200}$/u.test(tool.name) && JSON.stringify(tool).length <= MAX_DEFINITION_CHARS;

/**
 * Records the tools that a server listed. Without a baseline, all of them are recorded as approved; otherwise the new
 * and changed ones are recorded, with an event for each.
 */
export async function recordDefinitions(change: Change, server: string, listed: readonly ListedTool[]): Promise<void> {
  const { db, now, epoch } = change;
  if (await makeBaseline(db, server, now)) {
    const rows = listed.slice(0, MAX_TOOLS).map(({ tool, hash }): GatewayPinRow => {
      const definition = JSON.stringify(tool);
      return {
        server,
        tool: tool.name,
        state: 'approved',
        approved_hash: hash,
        approved: definition,
        seen_hash: hash,
        seen: definition,
        updated_at: now,
        policy_epoch: epoch,
      };
    });
    for (const some of chunk(rows, ROWS_AT_ONCE))
      await db
        .insertInto('gateway_pins')
        .values([...some])
        .execute();
    change.invalidate();
    return;
  }
  const pins = new Map((await pinsOf(db, server)).map((pin) => [pin.tool, pin]));
  const isNew = ({ tool }: ListedTool): boolean => !pins.has(tool.name);
  let room = MAX_TOOLS - pins.size;
  const excess = listed.filter(isNew).length - room;
  if (excess > 0) room += await removeForgotten(db, server, pins, listed, excess);
  for (const one of listed) {
    const { tool, hash } = one;
    const pin = pins.get(tool.name);
    if (pin?.seen_hash === hash || (!pin && room-- <= 0)) continue;
    const state = stateOf(pin, hash);
    const row = { state, seen_hash: hash, seen: JSON.stringify(tool), updated_at: now, policy_epoch: epoch };
    if (pin)
      await db
        .updateTable('gateway_pins')
        .set(row)
        .where('server', '=', server)
        .where('tool', '=', tool.name)
        .execute();
    else
      await db
        .insertInto('gateway_pins')
        .values({ server, tool: tool.name, approved_hash: null, approved: null, ...row })
        .execute();
    change.invalidate();
    change.emit({
      type: 'gateway.tool_changed',
      data: { server, tool: tool.name, state, definition: hash },
      ...(pin && { before: { state: pin.state, definition: pin.seen_hash } }),
      after: { state, definition: hash },
    });
  }
}

/** Returns whether the server had no baseline before. */
async function makeBaseline(db: Db, name: string, now: number): Promise<boolean> {
  const server = await db
    .selectFrom('gateway_servers')
    .select('baseline_at')
    .where('name', '=', name)
    .executeTakeFirst();
  if (server && server.baseline_at !== null) return false;
  await (server
    ? db.updateTable('gateway_servers').set({ baseline_at: now }).where('name', '=', name)
    : db.insertInto('gateway_servers').values({ name, baseline_at: now, restarted_at: null })
  ).execute();
  return true;
}

type PinSummary = Pick<GatewayPinRow, 'tool' | 'state' | 'approved_hash' | 'seen_hash'>;

const pinsOf = (db: Db, server: string): Promise<PinSummary[]> =>
  db
    .selectFrom('gateway_pins')
    .select(['tool', 'state', 'approved_hash', 'seen_hash'])
    .where('server', '=', server)
    .execute();

function stateOf(pin: PinSummary | undefined, hash: string): GatewayPinRow['state'] {
  if (!pin) return 'new';
  if (pin.state === 'blocked') return 'blocked';
  if (pin.approved_hash === hash) return 'approved';
  return pin.approved_hash === null ? 'new' : 'changed';
}

/** Deletes tools that were never approved and are no longer listed. Returns their number. */
async function removeForgotten(
  db: Db,
  server: string,
  pins: ReadonlyMap<string, PinSummary>,
  listed: readonly ListedTool[],
  wanted: number,
): Promise<number> {
  const names = new Set(listed.map(({ tool }) => tool.name));
  const forgotten = [...pins.values()].filter(({ tool, state }) => state === 'new' && !names.has(tool));
  const removed = forgotten.slice(0, wanted).map(({ tool }) => tool);
  for (const some of chunk(removed))
    await db.deleteFrom('gateway_pins').where('server', '=', server).where('tool', 'in', some).execute();
  return removed.length;
}
