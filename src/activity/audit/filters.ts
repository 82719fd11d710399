import { z } from 'zod';
import type { Visibility } from '../../access/principal.ts';
import { findOwnersOf } from '../../access/where-visible.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import { parseIp } from '../../kernel/ip.ts';
import { isoMoment, text } from '../../kernel/json.ts';
import { anyOf, assertOrdered, commaList } from '../../kernel/query.ts';
import { type Condition, type EntryFilter, MAX_PREFIX_SEGMENTS, prefixOf } from '../../ledger/index.ts';
import type { Db } from '../../storage/index.ts';

const MAX_IDS = 100;

const ResourceFilter = text(512).refine(
  (value) => (prefixOf(value)?.split(':').length ?? 0) <= MAX_PREFIX_SEGMENTS + 1,
  {
    message: `must have at most ${MAX_PREFIX_SEGMENTS} segments before the final *`,
  },
);
const IpFilter = text(64).transform((value, ctx) => {
  const address = parseIp(value);
  if (address === undefined) ctx.addIssue({ code: 'custom', message: 'must be an IPv4 or IPv6 address' });
  return address ?? '';
});
const IdList = commaList((id): id is Id<'audit'> | Id<'event'> => isId('audit', id) || isId('event', id), {
  max: MAX_IDS,
  expected: `must be 1 to ${MAX_IDS} ids of entries, separated by commas`,
  description: `Up to ${MAX_IDS} ids, separated by commas.`,
}).optional();

const positive = {
  agentId: anyOf(idOf('agent', text(64))),
  userId: anyOf(idOf('user', text(128)), 'Owner of the agent.'),
  ownerId: anyOf(idOf('user', text(128)), 'As userId.'),
  tenantId: anyOf(idOf('tenant', text(128)), 'Tenant of the owner; of a deleted owner, those of the agents.'),
  action: anyOf(text(128)),
  resource: anyOf(ResourceFilter, '`prefix:*` matches everything below the prefix.'),
  result: anyOf(z.enum(['allowed', 'denied', 'rate_limited'])),
  reason: anyOf(text(64)),
  delegationId: anyOf(idOf('delegation', text(64)), 'A delegation of the chain.'),
  clientId: anyOf(
    idOf('client', text(2048)),
    'OAuth client through which the decision was requested or the change was made.',
  ),
  ip: anyOf(IpFilter),
} as const;

type Name = keyof typeof positive;
const NAMES = Object.keys(positive) as Name[];

const negative = Object.fromEntries(
  NAMES.map((name) => {
    const item = positive[name].unwrap().element;
    return [`not.${name}`, anyOf(item, `Leaves out the entries that \`${name}\` would select.`)];
  }),
) as { readonly [N in Name as `not.${N}`]: (typeof positive)[N] };

/** Filters of rows of the ledger that depend on the row alone (contract 17.5). */
export const RowFilters = { ...positive, ...negative };

/** Filters of lists of rows of the ledger. */
export const ListFilters = {
  ...RowFilters,
  ids: IdList,
  'not.ids': IdList.meta({ description: 'Leaves out these entries.' }),
  since: isoMoment.optional().meta({ description: 'Inclusive.' }),
  until: isoMoment.optional().meta({ description: 'Exclusive.' }),
};

const RowQuery = z.object(RowFilters);
export type RowQuery = z.output<typeof RowQuery>;
const ListQuery = z.object(ListFilters);
type ListQuery = z.output<typeof ListQuery>;

const FIELDS = {
  agentId: 'agentId',
  userId: 'userId',
  ownerId: 'userId',
  action: 'action',
  resource: 'resource',
  result: 'result',
  reason: 'reason',
  delegationId: 'delegationId',
  clientId: 'clientId',
  ip: 'ip',
} as const;

/** Returns the conditions of a query. Tenants become the users that belong to them now, and deleted ones. */
export async function conditionsOf(db: Db, query: RowQuery): Promise<Condition[]> {
  const where: Condition[] = [];
  for (const name of NAMES)
    for (const [values, not] of [
      [query[name], false],
      [query[`not.${name}`], true],
    ] as const) {
      if (values === undefined) continue;
      where.push(
        name === 'tenantId'
          ? { field: 'userId', values: await findOwnersOf(db, values as readonly Id<'tenant'>[]), not }
          : { field: FIELDS[name], values, not },
      );
    }
  return where;
}

/** The condition that restricts a caller to the rows that it may see. */
export function visibleTo(visibility: Visibility): Condition[] {
  switch (visibility.kind) {
    case 'all':
      return [];
    case 'owner':
      return [{ field: 'userId', values: [visibility.userId] }];
    case 'agent':
      return [{ field: 'agentId', values: [visibility.agentId] }];
  }
}

/** Returns the filter of a list, within what the caller may see. Throws 400 for a range that ends before it begins. */
export async function filterOf(
  db: Db,
  caller: Visibility,
  types: readonly string[],
  query: Partial<ListQuery>,
): Promise<EntryFilter> {
  assertOrdered(query);
  const { since, until, ids, 'not.ids': notIds } = query;
  const where: Condition[] = [
    ...visibleTo(caller),
    { field: 'type', values: types },
    ...(await conditionsOf(db, query)),
  ];
  if (ids) where.push({ field: 'id', values: ids.flatMap(rowIds) });
  if (notIds) where.push({ field: 'id', values: notIds.flatMap(rowIds), not: true });
  return { where, sinceMs: since, untilMs: until };
}

/** A decision has an id as an audit entry and one on the stream. Rows have the former. */
export const rowIds = (id: string): string[] => [`aud_${id.slice(4)}`, ...(isId('event', id) ? [id] : [])];
