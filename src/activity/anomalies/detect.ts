import { clockHour, DAY_MS, isoTime, MINUTE_MS, SECOND_MS } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';

/** The options under `anomalies`. */
export type Thresholds = Platform['config']['anomalies'];

export const KINDS = ['denial_burst', 'rate_spike', 'new_namespace', 'unusual_hour', 'resource_probing'] as const;
export type Kind = (typeof KINDS)[number];
export const SEVERITIES = ['low', 'medium', 'high'] as const;
export type Severity = (typeof SEVERITIES)[number];

const SEVERITY: Readonly<Record<Kind, Severity>> = {
  denial_burst: 'medium',
  rate_spike: 'medium',
  new_namespace: 'low',
  unusual_hour: 'low',
  resource_probing: 'high',
};

/** The fields of a recorded decision that the detector uses. */
export interface Seen {
  readonly auditId: string;
  readonly resource: string;
  readonly allowed: boolean;
  readonly at: number;
}

export interface Found {
  readonly kind: Kind;
  readonly severity: Severity;
  /** Measured value, in the unit of the kind. */
  readonly observed: number | string;
  /** Usual value. */
  readonly expected: number | string;
  /** Audit entries, newest last. */
  readonly evidence: readonly string[];
  readonly at: number;
}

interface Refused {
  readonly at: number;
  readonly auditId: string;
}

/** The state of an agent between decisions. Of limited size, stored as JSON. */
export interface AgentState {
  calls: number;
  /** The last refusals, oldest first, at most as many as a burst needs. */
  refused: Refused[];
  /** Refusals before this time belong to a reported burst. */
  burstUntil: number;
  /** Refused resources, the latest one last. */
  probed: (Refused & { readonly resource: string })[];
  probingUntil: number;
  /** The current period of five minutes. */
  period: number;
  periodCalls: number;
  spiked: boolean;
  /** Exponentially weighted mean of decisions per period, and the number of periods in it. */
  baseline: number;
  periods: number;
  namespaces: string[];
  /** Decisions by hour of the day (UTC). */
  hours: number[];
  day: number;
  days: number;
  /** Clock hour of the last decision. The first decision of an hour determines whether the hour is unusual. */
  clockHour: number;
}

export const newState = (): AgentState => ({
  calls: 0,
  refused: [],
  burstUntil: 0,
  probed: [],
  probingUntil: 0,
  period: 0,
  periodCalls: 0,
  spiked: false,
  baseline: 0,
  periods: 0,
  namespaces: [],
  hours: Array(24).fill(0) as number[],
  day: -1,
  days: 0,
  clockHour: -1,
});

const PERIOD_MS = 5 * MINUTE_MS;
/** Weight of the newest period in the baseline. */
const ALPHA = 0.1;
const MAX_NAMESPACES = 200;
const MAX_EVIDENCE = 10;

/**
 * Examines one decision of an agent, in the order of the ledger, and updates `state`. Otherwise pure. Each anomaly is
 * found once per episode: bursts and probing end after a whole window without a refusal, a spike after a period below
 * it, an unusual hour with the clock hour; a namespace is new once.
 */
export function detect(state: AgentState, seen: Seen, o: Thresholds): Found[] {
  const found: Found[] = [];
  const tell = (
    kind: Kind,
    observed: number | string,
    expected: number | string,
    evidence: readonly string[],
  ): void => {
    found.push({
      kind,
      severity: SEVERITY[kind],
      observed,
      expected,
      evidence: evidence.slice(-MAX_EVIDENCE),
      at: seen.at,
    });
  };
  watchRate(state, seen, o, tell);
  watchHours(state, seen, o, tell);
  if (seen.allowed) watchNamespaces(state, seen, o, tell);
  else {
    watchRefusals(state, seen, o, tell);
    watchProbing(state, seen, o, tell);
  }
  state.calls++;
  return found;
}

type Tell = (kind: Kind, observed: number | string, expected: number | string, evidence: readonly string[]) => void;

/** Whether `at` is in the window that ends with `end`. A later time is not: the ledger's time was set back since. */
const isWithin = (at: number, end: number, window: number): boolean => at <= end && end - at < window;

function watchRefusals(
  state: AgentState,
  { at, auditId }: Seen,
  { denialBurst: { count, windowSeconds } }: Thresholds,
  tell: Tell,
): void {
  const window = windowSeconds * SECOND_MS;
  state.refused = [...state.refused.filter((r) => isWithin(r.at, at, window)), { at, auditId }].slice(-count);
  const inBurst = isWithin(at, state.burstUntil - 1, window);
  if (state.refused.length >= count && !inBurst)
    tell(
      'denial_burst',
      state.refused.length,
      count,
      state.refused.map((r) => r.auditId),
    );
  if (state.refused.length >= count || inBurst) state.burstUntil = at + window;
}

function watchProbing(
  state: AgentState,
  { at, auditId, resource }: Seen,
  { probing: { resources, windowSeconds } }: Thresholds,
  tell: Tell,
): void {
  const window = windowSeconds * SECOND_MS;
  state.probed = [
    ...state.probed.filter((p) => isWithin(p.at, at, window) && p.resource !== resource),
    { at, auditId, resource },
  ].slice(-resources);
  const isProbing = isWithin(at, state.probingUntil - 1, window);
  if (state.probed.length >= resources && !isProbing)
    tell(
      'resource_probing',
      state.probed.length,
      resources,
      state.probed.map((p) => p.auditId),
    );
  if (state.probed.length >= resources || isProbing) state.probingUntil = at + window;
}

function watchRate(
  state: AgentState,
  { at, auditId }: Seen,
  { rateSpike: { factor, minCalls, warmUp } }: Thresholds,
  tell: Tell,
): void {
  const period = Math.floor(at / PERIOD_MS);
  if (period !== state.period) {
    if (state.periodCalls > 0) {
      // A plain mean of the first periods, then exponentially weighted. Spikes are left out.
      if (!state.spiked)
        state.baseline += (state.periodCalls - state.baseline) * Math.max(ALPHA, 1 / (state.periods + 1));
      state.periods++;
    }
    // A period without decisions is below it, too.
    if (period > state.period + 1 || state.periodCalls < threshold(state, factor, minCalls)) state.spiked = false;
    state.period = period;
    state.periodCalls = 0;
  }
  state.periodCalls++;
  if (state.spiked || state.periods < warmUp || state.periodCalls < threshold(state, factor, minCalls)) return;
  state.spiked = true;
  tell('rate_spike', state.periodCalls, Math.round(state.baseline * 10) / 10, [auditId]);
}

const threshold = (state: AgentState, factor: number, minCalls: number): number =>
  Math.max(minCalls, factor * state.baseline);

/** The namespace of `mcp:github:create_issue` is `mcp:github`, that of `db:orders` is `db`. */
export function namespaceOf(resource: string): string {
  const segments = resource.split(':');
  return segments.slice(0, Math.max(1, Math.min(2, segments.length - 1))).join(':');
}

function watchNamespaces(
  state: AgentState,
  { auditId, resource }: Seen,
  { newNamespace: { warmUpCalls } }: Thresholds,
  tell: Tell,
): void {
  const namespace = namespaceOf(resource);
  if (state.namespaces.includes(namespace)) return;
  if (state.calls >= warmUpCalls && state.namespaces.length < MAX_NAMESPACES)
    tell('new_namespace', namespace, state.namespaces.slice(0, 20).join(', '), [auditId]);
  // For an agent with the maximum number of namespaces, no further one is reported.
  if (state.namespaces.length < MAX_NAMESPACES) state.namespaces.push(namespace);
}

function watchHours(
  state: AgentState,
  { at, auditId }: Seen,
  { unusualHour: { warmUpDays, sharePercent } }: Thresholds,
  tell: Tell,
): void {
  const day = Math.floor(at / DAY_MS);
  const hour = new Date(at).getUTCHours();
  if (day !== state.day) {
    state.day = day;
    state.days++;
  }
  if (state.clockHour !== clockHour(at)) {
    state.clockHour = clockHour(at);
    const least = (state.calls * sharePercent) / 100;
    const around = [hour, (hour + 1) % 24, (hour + 23) % 24];
    if (state.days > warmUpDays && around.every((h) => (state.hours[h] ?? 0) < least)) {
      const usual = state.hours.flatMap((calls, h) =>
        calls >= least && calls > 0 ? [`${String(h).padStart(2, '0')}:00`] : [],
      );
      tell('unusual_hour', isoTime(at).slice(11, 16), usual.join(', '), [auditId]);
    }
  }
  // Counted even if unusual, so that a lasting change of habit becomes usual.
  state.hours[hour] = (state.hours[hour] ?? 0) + 1;
}
