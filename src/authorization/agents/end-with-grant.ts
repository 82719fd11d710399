import { SYSTEM } from '../../access/actor.ts';
import { chunk } from '../../kernel/chunk.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { revokeAgents } from './revoke-agent.ts';

const REASON = 'grant-ended';
/** Number of agents per change. It is small because decisions wait for each change. */
const AT_ONCE = 100;

/**
 * Revokes the agents that were registered through these grants, so that an application does not keep agents after its
 * access has ended.
 *
 * @param keepsSuspended the agents of suspended owners remain
 */
export async function endAgentsOfGrants(
  change: Change,
  grantIds: readonly Id<'grant'>[],
  keepsSuspended: boolean,
): Promise<void> {
  for (const some of chunk(grantIds)) {
    const query = change.db
      .selectFrom('agents')
      .select('id')
      .where('grant_id', 'in', some)
      .where('revoked_at', 'is', null);
    const rows = await (keepsSuspended ? query.where('owner_suspended', '=', 0) : query).execute();
    await revokeAgents(
      change,
      rows.map(({ id }) => id),
      REASON,
    );
  }
}

/** Upkeep: a grant that expires emits no event, and its row is removed later. */
export async function endAgentsOfExpiredGrants({
  clock,
  database,
  ledger,
}: Pick<Platform, 'clock' | 'database' | 'ledger'>): Promise<void> {
  const left = (db: Db, now: number) =>
    db
      .selectFrom('agents')
      .leftJoin('oauth_grants', 'oauth_grants.id', 'agents.grant_id')
      .select('agents.id')
      .where('agents.grant_id', 'is not', null)
      .where('agents.revoked_at', 'is', null)
      .where((eb) => eb.or([eb('oauth_grants.id', 'is', null), eb('oauth_grants.expires_at', '<=', now)]))
      .limit(AT_ONCE);
  const anyLeft = async (): Promise<boolean> => (await left(database.read, clock.now()).execute()).length > 0;
  // By the time of the ledger none may have expired yet, if the clock of this instance is ahead of it.
  for (let ended = AT_ONCE; ended > 0 && (await anyLeft()); )
    ended = await ledger.change(SYSTEM, async (change) => {
      const rows = await left(change.db, change.now).execute();
      await revokeAgents(
        change,
        rows.map(({ id }) => id),
        REASON,
      );
      return rows.length;
    });
}
