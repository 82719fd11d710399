import type { Visibility } from '../../access/principal.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { SlotHolder } from '../../kernel/slots.ts';
import type { EntryFilter } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { entryFilter } from './query.ts';
import type { AuditFilter, FACETS, Facets, Histogram } from './schema.ts';
import { inSearchSlot } from './search-slots.ts';

/** Counts entries by result over time. Throws 503 TOO_MANY_SEARCHES. */
export function auditHistogram(
  platform: Pick<Platform, 'database' | 'reader' | 'stateOf'>,
  visibility: Visibility,
  query: AuditFilter,
  buckets: number,
  holder?: SlotHolder,
): Promise<Histogram> {
  return inSearchSlot(platform, holder, async () => {
    const filter = await entryFilter(platform.database.read, visibility, query);
    const { since, until } = await rangeOf(platform, filter);
    if (since === undefined || until === undefined)
      return { since: isoOrNull(since), until: isoOrNull(until), buckets: [] };
    const counted = await platform.reader.histogram(filter, since, until, buckets);
    return {
      since: isoTime(since),
      until: isoTime(until),
      buckets: counted.map((each) => ({
        since: isoTime(each.since),
        until: isoTime(each.until),
        counts: each.counts,
      })),
    };
  });
}

const isoOrNull = (ms: number | undefined): string | null => (ms === undefined ? null : isoTime(ms));

/** Returns the range. Missing bounds are those of the first and the last matching entry. */
async function rangeOf(
  { reader }: Pick<Platform, 'reader'>,
  filter: EntryFilter,
): Promise<{ since: number | undefined; until: number | undefined }> {
  const timeOfFirst = async (order: 'asc' | 'desc'): Promise<number | undefined> =>
    (await reader.page(filter, 1, { order }))[0]?.timestamp;
  const { sinceMs, untilMs } = filter;
  const since = sinceMs ?? (await timeOfFirst('asc'));
  if (untilMs !== undefined) return { since, until: untilMs };
  const last = await timeOfFirst('desc');
  return { since, until: last === undefined ? undefined : last + 1 };
}

type FacetName = (typeof FACETS)[number];

const LABELS: Readonly<Record<FacetName, (row: StreamEventRow) => string | null>> = {
  reason: (row) => row.reason,
  action: (row) => row.action,
  resource: (row) => row.resource,
  agentId: (row) => row.agent_id,
  ip: (row) => row.ip,
};

/** Counts entries by the values of a field. Throws 503 TOO_MANY_SEARCHES. */
export function auditFacets(
  platform: Pick<Platform, 'database' | 'reader' | 'stateOf'>,
  visibility: Visibility,
  query: AuditFilter,
  by: FacetName,
  limit: number,
  holder?: SlotHolder,
): Promise<Facets> {
  return inSearchSlot(platform, holder, async () => {
    const filter = await entryFilter(platform.database.read, visibility, query);
    const { values, ...sums } = await platform.reader.facets(filter, by, limit);
    const rows = await platform.reader.bySeqs(values.map(({ seq }) => seq).sort((a, b) => b - a));
    const labels = new Map(rows.map((row) => [row.seq, LABELS[by](row)]));
    return {
      by,
      ...sums,
      values: values.flatMap(({ seq, count, counts }) => {
        const value = labels.get(seq);
        return value ? [{ value, count, counts }] : [];
      }),
    };
  });
}
