import { SYSTEM } from '../../access/actor.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/clock.ts';
import { newId } from '../../kernel/ids.ts';
import type { AuditRecord } from '../../ledger/index.ts';
import type { Legate } from '../../service.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import type { SeedAgent } from '../seed/file.ts';
import { type DemoCall, everydayCall, numbersFrom } from './data.ts';

const DAYS = 30;
const STEP_MS = 3 * HOUR_MS;
const FINE_MS = 25 * HOUR_MS;
const FINE_STEP_MS = 15 * MINUTE_MS;
const NOON_MS = DAY_MS / 2;

/** In US dollars. The budget of the translator is not used up by them. */
const COSTS_OF_A_DAY = {
  'ticket-summariser': { amount: 1.1, tokens: 33_000 },
  translator: { amount: 0.5, tokens: 8000 },
  forecast: { amount: 0.4, tokens: 11_000 },
};

/** A clock that is set to the past while the history is created, and then follows the machine's clock. */
export class DemoClock {
  // Starts at noon, when every time window of the agents is open, because the history repeats the decisions of its
  // first moment.
  #past: number | undefined = Math.floor((Date.now() - DAYS * DAY_MS) / DAY_MS) * DAY_MS + NOON_MS;
  now(): number {
    return this.#past ?? Date.now();
  }
  /** Never goes back. */
  moveTo(ms: number): void {
    if (this.#past !== undefined && ms > this.#past) this.#past = ms;
  }
  runFromNow(): void {
    this.#past = undefined;
  }
}

/** Few calls at night, most of them in the afternoon, fewer on Saturdays and Sundays. */
function busyness(ms: number): number {
  const date = new Date(ms);
  const day = 1 + Math.sin(((date.getUTCHours() - 8) / 24) * 2 * Math.PI) * 0.8;
  return day * (date.getUTCDay() % 6 === 0 ? 0.3 : 1);
}

/**
 * Writes about `rows` decisions over the last 30 days, always the same ones. Each kind of call is actually decided
 * once; all others copy that decision with another resource and time. The last day has a finer division, because people
 * look at it first.
 */
export async function makeHistory(
  legate: Legate,
  clock: DemoClock,
  ids: ReadonlyMap<string, string>,
  { agents, rows }: { readonly agents: readonly SeedAgent[]; readonly rows: number },
): Promise<void> {
  const random = numbersFrom(20_260);
  const end = Date.now();
  const times: number[] = [];
  for (let at = clock.now() + STEP_MS; at < end - FINE_MS; at += STEP_MS) times.push(at);
  for (let at = end - FINE_MS; at < end; at += FINE_STEP_MS) times.push(at);
  const shares = times.map((at, i) => busyness(at) * ((times[i + 1] ?? end) - at));
  const sum = shares.reduce((total, share) => total + share, 0);
  const steps = shares.map((share) =>
    Array.from({ length: Math.round((rows * share) / sum) }, () => everydayCall(random, agents)),
  );
  const decided = await decideEachKind(legate, ids, steps.flat());
  let day = 0;
  for (const [i, calls] of steps.entries()) {
    clock.moveTo(times[i] as number);
    const today = Math.floor(clock.now() / DAY_MS);
    if (today > day && today < Math.floor(end / DAY_MS)) {
      day = today;
      await recordCosts(legate, ids, busyness(day * DAY_MS + NOON_MS) * (0.8 + 0.4 * random()));
    }
    if (calls.length === 0) continue;
    await legate.platform.ledger.change(SYSTEM, async (change) => {
      for (const call of calls)
        change.record({
          ...(decided.get(kindOf(call)) as AuditRecord),
          id: newId('audit', change.now),
          resource: call.resource,
          parameters: JSON.stringify(call.arguments),
          durationMs: Math.round(30 + random() ** 4 * 900) / 100,
        });
    });
  }
  clock.runFromNow();
}

/** Records what the models of some agents cost on one day. */
async function recordCosts(legate: Legate, ids: ReadonlyMap<string, string>, share: number): Promise<void> {
  for (const [agent, { amount, tokens }] of Object.entries(COSTS_OF_A_DAY))
    await legate.costs.record({
      agentId: ids.get(agent) as string,
      amount: Math.round(amount * share * 100) / 100,
      tokens: Math.round(tokens * share),
    });
}

const kindOf = ({ agent, action, resource }: DemoCall): string => `${agent} ${action} ${resource.replace(/\d+$/, '')}`;

/** Returns a recorded decision for each kind of call. */
async function decideEachKind(
  legate: Legate,
  ids: ReadonlyMap<string, string>,
  calls: readonly DemoCall[],
): Promise<Map<string, AuditRecord>> {
  const kinds = new Map(calls.map((call) => [kindOf(call), call]));
  const answers = await Promise.all(
    [...kinds].map(async ([kind, { agent, ...call }]) => {
      const { auditId } = await legate.authorize({ agentId: ids.get(agent) as string, ...call });
      return [auditId as string, kind] as const;
    }),
  );
  const kindOfEntry = new Map(answers);
  const rows = await legate.platform.database.read
    .selectFrom('stream_events')
    .selectAll()
    .where('type', '=', 'audit')
    .execute();
  return new Map(rows.map((row) => [kindOfEntry.get(row.id) as string, recordOf(row)]));
}

const recordOf = (row: StreamEventRow): AuditRecord => ({
  id: row.id as AuditRecord['id'],
  agentId: row.agent_id as AuditRecord['agentId'],
  userId: row.user_id as AuditRecord['userId'],
  action: row.action as string,
  resource: row.resource as string,
  result: row.result as AuditRecord['result'],
  reason: row.reason,
  durationMs: row.duration_ms as number,
  tokensCost: row.tokens_cost,
  parameters: row.parameters,
  ip: row.ip,
  userAgent: row.user_agent,
  delegationIds: row.delegation_ids,
  decided: row.decided,
});
