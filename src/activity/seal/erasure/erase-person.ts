import { sql } from 'kysely';
import type { Actor } from '../../../access/actor.ts';
import type { Changer } from '../../../access/caller.ts';
import { chunk } from '../../../kernel/chunk.ts';
import type { Id } from '../../../kernel/ids.ts';
import { yieldOnce } from '../../../kernel/yield-once.ts';
import { type Erasure, EVENT_TYPES, storedObject } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { Database, Db } from '../../../storage/index.ts';
import { isPermanent } from '../entry-text.ts';
import { eraseEntries } from './erase-entries.ts';
import { eraseInvites } from './erase-invites.ts';
import { eraseInMessages, type Shown } from './erase-messages.ts';
import { deleteRows, eraseRows } from './erase-rows.ts';

const EVENTS = Object.keys(EVENT_TYPES).filter((type) => type !== 'audit' && !isPermanent(type));
/** Number of rows whose JSON is rewritten in one transaction. */
const SLICE = 200;
/** Number of versions that one query reads. Other work runs between two queries. */
const SCAN = 1000;

/** The deleted user and the agents that the user owned. */
interface Person {
  readonly userId: Id<'user'>;
  readonly agents: ReadonlySet<string>;
}

/**
 * Erases the personal data of a deleted user: the private fields of decisions about their agents, events about them,
 * metadata of their agents and of costs, their e-mail addresses in events about invitations, and, in events and
 * histories of others, the addresses and reasons of the changes that they or their agents made. Decisions and changes
 * themselves can still be proven. Throws 409 like {@link eraseEntries}. A repeated call continues where an earlier one
 * stopped.
 */
export async function erasePerson(
  platform: Pick<Platform, 'config' | 'database' | 'ledger' | 'reader' | 'stateOf'>,
  caller: Changer,
  userId: Id<'user'>,
): Promise<Erasure> {
  const by = withoutOwnAddress(caller, userId);
  // Also waits for the copies of changes until now, which the steps below find and erase.
  const entries = await eraseEntries(platform, by, { userId });
  // Before the events about the person, which name the addresses.
  await eraseInvites(platform, userId);
  const person = { userId, agents: new Set(await eraseAgents(platform, userId)) };
  await eraseVersions(platform, person);
  await eraseActors(platform, person);
  // These come last: as long as there are any, a repeated call finds the person.
  const events = await eraseRows(
    platform,
    by,
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
  await platform.ledger.foldLog();
  return {
    ...entries,
    erased: entries.erased + events.erased,
    recordedAs: [...entries.recordedAs, ...events.recordedAs],
  };
}

/** The caller whom the records of the erasure name, without the address of people who erase themselves. */
const withoutOwnAddress = ({ reauthorize, actor }: Changer, userId: Id<'user'>): Changer => ({
  reauthorize,
  actor: isBy(actor, { userId, agents: new Set() }) ? withoutAddress(actor) : actor,
});

/**
 * Erases texts that the user wrote about their agents and approvals, and the remainders of events that retention has
 * deleted. Returns the agents.
 */
async function eraseAgents(
  { ledger, database }: Pick<Platform, 'database' | 'ledger'>,
  userId: Id<'user'>,
): Promise<Id<'agent'>[]> {
  const rows = await database.read.selectFrom('agents').select('id').where('owner_id', '=', userId).execute();
  const ids = rows.map(({ id }) => id);
  for (const some of chunk(ids, SLICE))
    await ledger.maintain(async (db) => {
      await db.updateTable('agents').set({ metadata: '{}' }).where('id', 'in', some).execute();
    });
  await ledger.maintain(async (db) => {
    const events = db.selectFrom('changes').select('seq').where('user_id', '=', userId);
    await db.deleteFrom('change_subjects').where('seq', 'in', events).execute();
    await db.deleteFrom('changes').where('user_id', '=', userId).execute();
    await db.updateTable('approvals').set({ arguments: '{}', note: null }).where('user_id', '=', userId).execute();
    await db.updateTable('costs').set({ metadata: '{}' }).where('user_id', '=', userId).execute();
    await db.updateTable('anomalies').set({ note: null }).where('user_id', '=', userId).execute();
  });
  return ids;
}

/**
 * Erases metadata of the person's agents from their versions, and the addresses and reasons of changes: all of them in
 * the histories of these agents and of delegations between them, because all events about them are erased, and those of
 * the person in all other histories. Versions have no index by actor, so all of them are read.
 */
async function eraseVersions(
  { ledger, database }: Pick<Platform, 'database' | 'ledger'>,
  person: Person,
): Promise<void> {
  const { userId, agents } = person;
  const delegations = await database.read
    .selectFrom('delegations')
    .select('id')
    .where('from_owner', '=', userId)
    .where('to_owner', '=', userId)
    .execute();
  const within = new Set<string>(delegations.map(({ id }) => id));
  for await (const versions of allVersions(database)) {
    const found = versions.filter(({ subject, actor }) => {
      if (agents.has(subject)) return true;
      const by = JSON.parse(actor) as Actor;
      return isPrivate(by) && (within.has(subject) || isBy(by, person));
    });
    for (const some of chunk(found, SLICE))
      await ledger.maintain(async (db) => {
        for (const { subject, seq, actor } of some) {
          const state = agents.has(subject) ? await stateWithoutMetadata(db, subject, seq) : {};
          await db
            .updateTable('versions')
            .set({ actor: JSON.stringify(withoutPrivate(JSON.parse(actor) as Actor)), ...state })
            .where('subject', '=', subject)
            .where('seq', '=', seq)
            .execute();
        }
      });
  }
}

async function* allVersions({ read }: Database): AsyncGenerator<{ subject: string; seq: number; actor: string }[]> {
  const page = read.selectFrom('versions').select(['subject', 'seq', 'actor']).orderBy('subject').orderBy('seq');
  for (let query = page; ; await yieldOnce()) {
    const versions = await query.limit(SCAN).execute();
    yield versions;
    const last = versions.at(-1);
    if (!last || versions.length < SCAN) return;
    query = page.where(({ eb, refTuple, tuple }) => eb(refTuple('subject', 'seq'), '>', tuple(last.subject, last.seq)));
  }
}

/** A version may be large, so each is read by itself. */
async function stateWithoutMetadata(db: Db, subject: string, seq: number): Promise<{ state: string }> {
  const { state } = await db
    .selectFrom('versions')
    .select('state')
    .where('subject', '=', subject)
    .where('seq', '=', seq)
    .executeTakeFirstOrThrow();
  return { state: JSON.stringify({ ...(JSON.parse(state) as object), metadata: {} }) };
}

/** Erases the addresses and reasons of changes that the person made and that concern others. */
async function eraseActors({ ledger, database }: Pick<Platform, 'database' | 'ledger'>, person: Person): Promise<void> {
  const { userId, agents } = person;
  const changes = database.read.selectFrom('changes').select(['seq', 'id']);
  const found = await changes.where(sql<boolean>`change like ${jsonPattern(userId)} escape '\\'`).execute();
  for (const some of chunk([...agents])) found.push(...(await changes.where('actor_id', 'in', some).execute()));
  const ids = new Map(found.map(({ seq, id }) => [seq, id]));
  for (const some of chunk([...ids.keys()], SLICE))
    await ledger.maintain(async (db) => {
      const erased = new Map<number, { readonly id: string; readonly seq: number }>();
      for (const table of ['changes', 'stream_events'] as const)
        for (const seq of some) {
          const row = await db.selectFrom(table).select(['type', 'change']).where('seq', '=', seq).executeTakeFirst();
          if (!row) continue;
          const change = storedObject(row.change);
          const left = withoutPrivateActor(change, row.type, person);
          if (left === change) continue;
          await db
            .updateTable(table)
            .set({ change: JSON.stringify(left) })
            .where('seq', '=', seq)
            .execute();
          erased.set(seq, { id: ids.get(seq) ?? '', seq });
        }
      await eraseInMessages(db, [...erased.values()], (event) =>
        withoutPrivateActor(event, String(event['type']), person),
      );
    });
}

/** Returns a change, or an event, without address and reason of the actor if the person made it. */
function withoutPrivateActor(change: Shown, type: string, person: Person): Shown {
  const { actor } = change as { actor?: Actor };
  if (!actor || !isPrivate(actor) || !isBy(actor, person)) return change;
  // The reason of an erasure is part of its record, also if administrators erase themselves.
  return { ...change, actor: isPermanent(type) ? withoutAddress(actor) : withoutPrivate(actor) };
}

/** Returns a LIKE pattern, for `escape '\'`, of the JSON texts that contain a string. An id may be any text. */
const jsonPattern = (text: string): string => `%${JSON.stringify(text).replace(/[\\%_]/g, '\\$&')}%`;

/** Returns whether the person, an agent of the person, or somebody on behalf of the person made a change. */
const isBy = ({ kind, id, userId }: Actor, person: Person): boolean =>
  userId === person.userId || (id !== null && (kind === 'user' ? id === person.userId : person.agents.has(id)));

const isPrivate = ({ ip, reason }: Actor): boolean => ip !== undefined || reason !== undefined;

const withoutAddress = ({ ip: _, ...actor }: Actor): Actor => actor;

const withoutPrivate = ({ ip: _, reason: __, ...actor }: Actor): Actor => actor;
