import type { Anomaly } from 'legate/client';
import { formatValue } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

/** Kinds that are reported from a configured number on. All others are compared with what is usual for the agent. */
const COUNTED = new Set(['denial_burst', 'resource_probing']);

/** What was observed, and what it is compared with. Hours of the day are those of UTC. */
export function observationOf({ kind, observed, expected }: Pick<Anomaly, 'kind' | 'observed' | 'expected'>) {
  const text = (value: unknown): string => formatValue(value) + (kind === 'unusual_hour' && value ? ' UTC' : '');
  const values = { observed: text(observed), expected: text(expected) };
  return COUNTED.has(kind)
    ? { ...values, label: t.reportedFrom, sentence: t.observedFrom(values.observed, values.expected) }
    : { ...values, label: t.usual, sentence: t.observedAgainst(values.observed, values.expected) };
}
