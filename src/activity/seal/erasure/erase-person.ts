import type { Actor } from '../../../access/actor.ts';
import type { Changer } from '../../../access/caller.ts';
import { chunk } from '../../../kernel/chunk.ts';
import type { Id } from '../../../kernel/ids.ts';
import { type Erasure, EVENT_TYPES } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { Db } from '../../../storage/index.ts';
import { isPermanent } from '../entry-text.ts';
import { eraseEntries } from './erase-entries.ts';
import { deleteRows, eraseRows } from './erase-rows.ts';

const EVENTS = Object.keys(EVENT_TYPES).filter((type) => type !== 'audit' && !isPermanent(type));
/** Number of rows whose JSON is rewritten in one transaction. */
const SLICE = 200;

/**
 * Erases the personal data of a deleted user: the private fields of decisions about their agents, events about them,
 * metadata of their agents, and their addresses in events about others. Decisions and changes themselves can still be
 * proven. Throws 409 like {@link eraseEntries}. A repeated call continues where an earlier one stopped.
 */
export async function erasePerson(
  platform: Pick<Platform, 'config' | 'database' | 'ledger' | 'reader' | 'stateOf'>,
  caller: Changer,
  userId: Id<'user'>,
): Promise<Erasure> {
  const entries = await eraseEntries(platform, caller, { userId });
  const events = await eraseRows(
    platform,
    caller,
    {
      where: [
        { field: 'type', values: EVENTS },
        { field: 'userId', values: [userId] },
      ],
    },
    {
      what: 'private',
      applies: ({ type, user_id }) => type !== 'audit' && !isPermanent(type) && user_id === userId,
      erase: deleteRows,
    },
  );
  await eraseAgents(platform, userId);
  await eraseAddresses(platform, userId);
  await platform.ledger.foldLog();
  return {
    ...entries,
    erased: entries.erased + events.erased,
    recordedAs: [...entries.recordedAs, ...events.recordedAs],
  };
}

/**
 * Erases texts that the user wrote about their agents and approvals, and the remainders of events that retention has
 * deleted.
 */
async function eraseAgents(
  { ledger, database }: Pick<Platform, 'database' | 'ledger'>,
  userId: Id<'user'>,
): Promise<void> {
  const ids = await database.read.selectFrom('agents').select('id').where('owner_id', '=', userId).execute();
  for (const some of chunk(
    ids.map(({ id }) => id),
    SLICE,
  ))
    await ledger.maintain(async (db) => {
      await db.updateTable('agents').set({ metadata: '{}' }).where('id', 'in', some).execute();
      await eraseVersions(db, some);
    });
  await ledger.maintain(async (db) => {
    const events = db.selectFrom('changes').select('seq').where('user_id', '=', userId);
    await db.deleteFrom('change_subjects').where('seq', 'in', events).execute();
    await db.deleteFrom('changes').where('user_id', '=', userId).execute();
    await db.updateTable('approvals').set({ arguments: '{}', note: null }).where('user_id', '=', userId).execute();
    await db.updateTable('anomalies').set({ note: null }).where('user_id', '=', userId).execute();
  });
}

async function eraseVersions(db: Db, agents: readonly Id<'agent'>[]): Promise<void> {
  const versions = await db.selectFrom('versions').select(['subject', 'seq']).where('subject', 'in', agents).execute();
  // A version may be large, so each is read by itself.
  for (const { subject, seq } of versions) {
    const { actor, state } = await db
      .selectFrom('versions')
      .select(['actor', 'state'])
      .where('subject', '=', subject)
      .where('seq', '=', seq)
      .executeTakeFirstOrThrow();
    await db
      .updateTable('versions')
      .set({
        actor: JSON.stringify(withoutAddress(JSON.parse(actor) as Actor)),
        state: JSON.stringify({ ...(JSON.parse(state) as object), metadata: {} }),
      })
      .where('subject', '=', subject)
      .where('seq', '=', seq)
      .execute();
  }
}

/** Erases the addresses from which a user made changes that concern others. */
async function eraseAddresses(
  { ledger, database }: Pick<Platform, 'database' | 'ledger'>,
  userId: Id<'user'>,
): Promise<void> {
  const rows = await database.read
    .selectFrom('changes')
    .select('seq')
    .where('change', 'like', `%${userId.replaceAll('%', '')}%`)
    .execute();
  for (const some of chunk(
    rows.map(({ seq }) => seq),
    SLICE,
  ))
    await ledger.maintain(async (db) => {
      for (const table of ['changes', 'stream_events'] as const)
        for (const seq of some) {
          const row = await db.selectFrom(table).select('change').where('seq', '=', seq).executeTakeFirst();
          if (!row) continue;
          const { actor, ...rest } = JSON.parse(row.change ?? '{}') as { actor?: Actor };
          if (!actor?.ip || (actor.id !== userId && actor.userId !== userId)) continue;
          await db
            .updateTable(table)
            .set({ change: JSON.stringify({ actor: withoutAddress(actor), ...rest }) })
            .where('seq', '=', seq)
            .execute();
        }
    });
}

const withoutAddress = ({ ip: _, ...actor }: Actor): Actor => actor;
