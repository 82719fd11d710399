import { type Expression, expressionBuilder, type SqlBool } from 'kysely';
import type { ListVisibility } from '../../access/principal.ts';
import { ownersOf, whereVisible } from '../../access/where-visible.ts';
import { agentsOfStatus } from '../../authorization/agents/index.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';
import type { Tables } from '../../storage/index.ts';
import { isNearLimit } from '../costs/index.ts';
import type { Attention } from './schema.ts';

const EXPIRES_WITHIN_MS = 7 * DAY_MS;
/** Ids of each kind. */
const SHOWN = 10;

/** Returns what waits for a person, each kind with its number and the first ids: most urgent or newest first. */
export async function getAttention(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  visibility: ListVisibility,
): Promise<Attention> {
  const db = database.read;
  const now = clock.now();
  const visible = whereVisible(visibility);
  const approvals = db
    .selectFrom('approvals')
    .select('id')
    .where(visible)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .orderBy('expires_at')
    .orderBy('id');
  const anomalies = db
    .selectFrom('anomalies')
    .select('id')
    .where(visible)
    .where('acknowledged_at', 'is', null)
    .orderBy('id', 'desc');
  // The usage of a window that has ended does not count, so each row is examined.
  const budgets = db
    .selectFrom('budgets')
    .selectAll()
    .where(visible)
    .where((eb) => eb('used', '>', eb('limit_value', '*', eb.lit(0.8))))
    .orderBy('id', 'desc');
  const webhooks = db
    .selectFrom('webhooks')
    .select('id')
    .where(visible)
    .where((eb) =>
      eb.or([
        eb.and([eb('enabled', '=', 1), eb('failures', '>', 0)]),
        eb('disabled_reason', 'in', ['gone', 'agent-not-allowed']),
      ]),
    )
    .orderBy('id', 'desc');
  const agents = db
    .selectFrom('agents')
    .select('id')
    .where(ownedBy(visibility))
    .where(agentsOfStatus('active', now))
    .where('expires_at', '<=', now + EXPIRES_WITHIN_MS)
    .orderBy('expires_at')
    .orderBy('id');
  return {
    approvals: first(await approvals.execute()),
    anomalies: first(await anomalies.execute()),
    budgets: first((await budgets.execute()).filter((row) => isNearLimit(row, now))),
    webhooks: first(await webhooks.execute()),
    agents: first(await agents.execute()),
  };
}

const first = (rows: readonly { readonly id: string }[]) => ({
  count: rows.length,
  ids: rows.slice(0, SHOWN).map(({ id }) => id),
});

const eb = expressionBuilder<Tables, 'agents'>();

/** The condition of {@link whereVisible} for agents, whose owner has another column. */
function ownedBy(visibility: ListVisibility): Expression<SqlBool> {
  switch (visibility.kind) {
    case 'all':
      return eb.lit(true);
    case 'owners':
      return eb('owner_id', 'in', visibility.userIds);
    case 'tenants':
      return eb('owner_id', 'in', ownersOf(visibility.tenantIds));
    case 'nothing':
      return eb.lit(false);
    default:
      return eb('owner_id', '=', visibility.userId);
  }
}
