import type { Id } from '../../../kernel/ids.ts';
import { yieldOnce } from '../../../kernel/yield-once.ts';
import { storedObject } from '../../../ledger/index.ts';
import { emailKey } from '../../../people/users/index.ts';
import type { Platform } from '../../../platform.ts';
import type { Db } from '../../../storage/index.ts';
import { eraseInMessages } from './erase-messages.ts';

const INVITES = ['invite.created', 'invite.accepted', 'invite.revoked'];
/** Number of events that one query reads. Other work runs between two queries. */
const SCAN = 200;

type Fields = Readonly<Record<string, unknown>>;
/** The fields of a user or an invitation that an event shows. */
type Shown = Fields & { readonly before?: Fields; readonly after?: Fields };

const parse = (change: string | null): Shown => storedObject(change) as Shown;

const keysIn = ({ before, after }: Shown): string[] =>
  [before?.['email'], after?.['email']].flatMap((email) => (typeof email === 'string' ? [emailKey(email)] : []));

const withoutEmail = ({ email: _, ...fields }: Fields): Fields => fields;

const withoutEmails = ({ before, after, ...rest }: Shown): Shown => ({
  ...rest,
  ...(before && { before: withoutEmail(before) }),
  ...(after && { after: withoutEmail(after) }),
});

/**
 * Erases the addresses of a person from events about invitations to them, and from the messages of these events to
 * webhooks. The events belong to the inviter, so they are kept. The addresses are those in the events about the person,
 * which must still be there.
 */
export async function eraseInvites(
  { ledger, database }: Pick<Platform, 'database' | 'ledger'>,
  userId: Id<'user'>,
): Promise<void> {
  const addresses = await addressesOf(database.read, userId);
  if (addresses.size === 0) return;
  const events = database.read.selectFrom('changes').select(['seq', 'id', 'change']).where('type', 'in', INVITES);
  for (let after = 0; ; await yieldOnce()) {
    const rows = await events.where('seq', '>', after).orderBy('seq').limit(SCAN).execute();
    const found = rows.filter(({ change }) => keysIn(parse(change)).some((key) => addresses.has(key)));
    if (found.length > 0)
      await ledger.maintain(async (db) => {
        for (const { seq, change } of found) {
          for (const table of ['changes', 'stream_events'] as const)
            await db
              .updateTable(table)
              .set({ change: JSON.stringify(withoutEmails(parse(change))) })
              .where('seq', '=', seq)
              .execute();
        }
        await eraseInMessages(db, found, withoutEmails);
      });
    if (rows.length < SCAN) return;
    after = rows.at(-1)?.seq ?? after;
  }
}

/** The comparison keys of all addresses that the person had. */
async function addressesOf(db: Db, userId: Id<'user'>): Promise<Set<string>> {
  const rows = await db
    .selectFrom('changes')
    .select('change')
    .where('user_id', '=', userId)
    .where('type', 'in', ['user.created', 'user.updated'])
    .execute();
  return new Set(rows.flatMap(({ change }) => keysIn(parse(change))));
}
