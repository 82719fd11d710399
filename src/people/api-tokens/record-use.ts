import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';

/** Records the use of an API token in the background. At worst the time of its last use is a little out of date. */
export function recordUse(
  { background, ledger }: Pick<Platform, 'background' | 'ledger'>,
  id: Id<'apiToken'>,
  now: number,
): void {
  background.run('recording the use of an API token', () =>
    ledger.maintain(async (db) => {
      await db
        .updateTable('api_tokens')
        .set({ last_used_at: now })
        .where('id', '=', id)
        .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', now)]))
        .execute();
    }),
  );
}
