import type { Asked, Cap, History, LedgerRow, Operation, Violation } from './history.ts';

/** Milliseconds of the clock of the recording process. */
type Time = number;

/**
 * Returns how a history violates the rules that apply under every fault:
 *
 * - no request that begins after the response to the end of a right is allowed by that right;
 * - a right whose grant was answered is effective until its end begins;
 * - every answered decision is in the ledger exactly once, as answered, and in the order of the responses;
 * - the sequence has no gap, and time never decreases along it;
 * - caps are exact;
 * - what is valid once is used at most once;
 * - a failure is 503 or no response.
 */
export function checkHistory(history: History): Violation[] {
  return [
    ...checkRights(history.operations),
    ...checkDecisions(history),
    ...checkSequence(history.ledger),
    ...checkCaps(history),
    ...checkSecrets(history.operations),
    ...checkStatuses(history.operations),
  ];
}

interface Life {
  /** When the response arrived that granted the right. */
  givenAt: Time;
  /** When the first attempt to end it began. */
  endBegunAt: Time;
  /** When the first response arrived that ended it. */
  endedAt: Time;
}

function livesOf(operations: readonly Operation[]): Map<string, Life> {
  const lives = new Map<string, Life>();
  for (const { what, startedAt, endedAt } of operations) {
    if (what.kind !== 'granted' && what.kind !== 'ended') continue;
    let life = lives.get(what.right);
    if (!life) {
      life = {
        givenAt: Number.POSITIVE_INFINITY,
        endBegunAt: Number.POSITIVE_INFINITY,
        endedAt: Number.POSITIVE_INFINITY,
      };
      lives.set(what.right, life);
    }
    if (what.kind === 'ended') life.endBegunAt = Math.min(life.endBegunAt, startedAt);
    if (!what.succeeded) continue;
    if (what.kind === 'granted') life.givenAt = Math.min(life.givenAt, endedAt);
    else life.endedAt = Math.min(life.endedAt, endedAt);
  }
  return lives;
}

function checkRights(operations: readonly Operation[]): Violation[] {
  const found: Violation[] = [];
  const lives = livesOf(operations);
  for (const { what, startedAt, endedAt, instance } of operations) {
    if (what.kind !== 'asked' || what.allowed === undefined) continue;
    const by = `instance ${instance}, ${what.auditId ?? 'no decision'}`;
    for (const right of what.rights) {
      const life = lives.get(right);
      if (what.allowed && life && startedAt > life.endedAt)
        found.push({
          rule: 'no allow after a revocation',
          detail: `${right} ended at ${life.endedAt}, allowed at ${startedAt} (${by})`,
        });
    }
    const holds = what.rights.every((right) => {
      const life = lives.get(right);
      return life && startedAt > life.givenAt && endedAt < life.endBegunAt;
    });
    if (!what.allowed && !what.isConditional && holds)
      found.push({
        rule: 'what was given holds',
        detail: `${what.rights.join(' and ')} refused at ${startedAt} (${by})`,
      });
  }
  return found;
}

interface Decision {
  readonly startedAt: Time;
  readonly endedAt: Time;
  readonly seq: number;
  readonly id: string;
}

function checkDecisions({ operations, ledger }: History): Violation[] {
  const found: Violation[] = [];
  const once = (detail: string): unknown => found.push({ rule: 'recorded once', detail });
  const rows = new Map<string, LedgerRow>();
  for (const row of ledger) {
    if (rows.has(row.id)) once(`${row.id} has two rows`);
    rows.set(row.id, row);
  }
  const answered = new Set<string>();
  const decisions: Decision[] = [];
  for (const { what, status, startedAt, endedAt } of operations) {
    if (what.kind !== 'asked' || status !== 200 || what.agentId === undefined) continue;
    const id = what.auditId;
    if (id === undefined) {
      once(`an answer about ${what.resource} at ${startedAt} has no audit id`);
      continue;
    }
    if (answered.has(id)) once(`${id} was answered twice`);
    answered.add(id);
    const row = rows.get(id);
    if (!row) {
      once(`${id} was answered at ${endedAt} and is not in the ledger`);
      continue;
    }
    if (!isSame(row, what))
      found.push({ rule: 'recorded as answered', detail: `${JSON.stringify(what)} is ${JSON.stringify(row)}` });
    decisions.push({ startedAt, endedAt, seq: row.seq, id });
  }
  return [...found, ...checkOrder(decisions)];
}

const isSame = (row: LedgerRow, { allowed, agentId, resource }: Asked): boolean =>
  (row.result === 'allowed') === allowed && row.agentId === agentId && row.resource === resource;

/** Of two decisions, the one whose response arrived before the other began comes first in the ledger. */
function checkOrder(decisions: readonly Decision[]): Violation[] {
  const found: Violation[] = [];
  const byStart = [...decisions].sort((a, b) => a.startedAt - b.startedAt);
  const byEnd = [...decisions].sort((a, b) => a.endedAt - b.endedAt);
  let next = 0;
  let newest = { seq: 0, id: '' };
  for (const decision of byStart) {
    for (let ended = byEnd[next]; ended && ended.endedAt < decision.startedAt; ended = byEnd[++next])
      if (ended.seq > newest.seq) newest = ended;
    if (decision.seq < newest.seq)
      found.push({ rule: 'recorded in order', detail: `${decision.id} began after ${newest.id} and precedes it` });
  }
  return found;
}

function checkSequence(ledger: readonly LedgerRow[]): Violation[] {
  const found: Violation[] = [];
  let seq = 0;
  let time = Number.NEGATIVE_INFINITY;
  for (const row of ledger) {
    if (row.seq !== seq + 1) found.push({ rule: 'no gap', detail: `${row.seq} follows ${seq}` });
    if (row.timestamp < time)
      found.push({ rule: 'time never goes back', detail: `${row.seq}: ${row.timestamp} follows ${time}` });
    seq = row.seq;
    time = row.timestamp;
  }
  return found;
}

const HOUR_MS = 3_600_000;

function checkCaps({ ledger, caps }: History): Violation[] {
  const keyOf = (c: { agentId: string | null; resource: string | null }): string => `${c.agentId} ${c.resource}`;
  const rows = new Map<string, LedgerRow[]>(caps.map((cap) => [keyOf(cap), []]));
  for (const row of ledger) if (row.type === 'audit') rows.get(keyOf(row))?.push(row);
  return caps.flatMap((cap) => checkCap(cap, rows.get(keyOf(cap)) ?? []));
}

function checkCap({ agentId, resource, limit, per }: Cap, rows: readonly LedgerRow[]): Violation[] {
  const found: Violation[] = [];
  const used = new Map<number, number>();
  for (const { id, timestamp, result, reason } of rows) {
    const window = per === 'hour' ? Math.floor(timestamp / HOUR_MS) : 0;
    const count = used.get(window) ?? 0;
    const isAllowed = result === 'allowed';
    if (isAllowed) used.set(window, count + 1);
    if (isAllowed && count >= limit)
      found.push({ rule: 'caps are exact', detail: `${agentId} on ${resource}: ${count + 1} of ${limit} (${id})` });
    if (reason === 'RATE_LIMITED' && count < limit)
      found.push({
        rule: 'caps are exact',
        detail: `${agentId} on ${resource}: refused after ${count} of ${limit} (${id})`,
      });
  }
  return found;
}

function checkSecrets(operations: readonly Operation[]): Violation[] {
  const used = new Map<string, number>();
  for (const { what } of operations)
    if (what.kind === 'redeemed' && what.succeeded) used.set(what.secret, (used.get(what.secret) ?? 0) + 1);
  return [...used]
    .filter(([, times]) => times > 1)
    .map(([secret, times]) => ({ rule: 'single use', detail: `${secret} worked ${times} times` }));
}

function checkStatuses(operations: readonly Operation[]): Violation[] {
  return operations
    .filter(({ status = 0 }) => status === 429 || (status >= 500 && status !== 503))
    .map(({ status, what, instance, startedAt }) => ({
      rule: 'a failure is 503',
      detail: `${status} for ${JSON.stringify(what)} of instance ${instance} at ${startedAt}`,
    }));
}
