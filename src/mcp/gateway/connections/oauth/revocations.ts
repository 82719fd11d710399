import { SYSTEM } from '../../../../access/actor.ts';
import type { Change } from '../../../../ledger/index.ts';
import type { Platform } from '../../../../platform.ts';
import type { GatewayConnectionRow } from '../../../../storage/index.ts';
import { readCredentials } from '../store.ts';
import { revokeTokens } from './tokens.ts';

const AT_ONCE = 20;

type Ended = Pick<GatewayConnectionRow, 'type' | 'user_id' | 'server' | 'sealed'>;

/** Stores the tokens of ended connections, which are then revoked at their authorization servers. */
export async function revokeLater({ db, now }: Change, ended: readonly Ended[]): Promise<void> {
  for (const { type, user_id, server, sealed } of ended)
    if (type === 'oauth')
      await db.insertInto('gateway_revocations').values({ user_id, server, sealed, created_at: now }).execute();
}

/** Revokes the stored tokens, each once. */
export async function revokeWaiting(
  platform: Pick<Platform, 'database' | 'ledger' | 'log' | 'secrets' | 'stateOf'>,
): Promise<void> {
  const waiting = await platform.database.read
    .selectFrom('gateway_revocations')
    .selectAll()
    .orderBy('created_at')
    .limit(AT_ONCE)
    .execute();
  if (waiting.length === 0) return;
  const taken = await platform.ledger.change(SYSTEM, ({ db }) =>
    db
      .deleteFrom('gateway_revocations')
      .where(
        'sealed',
        'in',
        waiting.map(({ sealed }) => sealed),
      )
      .returningAll()
      .execute(),
  );
  await Promise.all(
    taken.map(async (row) => {
      const credentials = readCredentials(platform, row);
      if (credentials?.type !== 'oauth') return;
      await revokeTokens(platform, credentials).catch((error: unknown) =>
        platform.log.warn({ server: row.server, problem: (error as Error).message }, 'A token could not be revoked'),
      );
    }),
  );
}
