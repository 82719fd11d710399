import type { Expression, SqlBool } from 'kysely';
import type { Actor } from '../../access/actor.ts';
import { chunk } from '../../kernel/chunk.ts';
import type { KeepVersions, NewEvent } from '../../ledger/index.ts';
import { bulkInsert, type Database, type Db, preparedByIds, preparedRows } from '../../storage/index.ts';
import { selectAgents } from '../agents/index.ts';
import { agentSnapshot, delegationSnapshot } from './snapshot.ts';

/** The change of one subject: its last event in the commit, if it has one. */
interface Touch {
  readonly seq: number;
  readonly type: string | null;
  readonly actor: Actor;
}

/** The agent or delegation that an event is about. */
function subjectOf({ type, agentId, data }: NewEvent): string | undefined {
  if (type.startsWith('agent.')) return agentId;
  return type.startsWith('delegation.') ? String(data['delegationId']) : undefined;
}

const insertVersions = bulkInsert(
  'versions',
  {
    subject: 'text',
    seq: 'bigint',
    version: 'bigint',
    timestamp: 'bigint',
    type: 'text',
    actor: 'text',
    state: 'text',
  },
  'on conflict (subject, seq) do update set state = excluded.state',
);

const agentsOfEpoch = preparedRows<[epoch: number], { readonly id: string }>((db, epoch) =>
  db.selectFrom('agents').select('id').where('policy_epoch', '=', epoch).compile(),
);

const delegationsOfEpoch = preparedRows<[epoch: number], { readonly id: string }>((db, epoch) =>
  db.selectFrom('delegations').select('id').where('policy_epoch', '=', epoch).compile(),
);

const selectDelegations = preparedByIds((db, isOneOf) =>
  db.selectFrom('delegations').selectAll().where(isOneOf('id')).compile(),
);

/** The first event of an agent or delegation, before which it has no version. */
const isFirst = (type: string | null): boolean => type === 'agent.created' || type === 'delegation.created';

const newestVersions = (db: Db, isOneOf: (column: string) => Expression<SqlBool>) =>
  db
    .selectFrom('versions as v')
    .select(['v.subject', 'v.version'])
    .where(isOneOf('v.subject'))
    .where('v.seq', '=', (eb) =>
      eb
        .selectFrom('versions as w')
        .select((w) => w.fn.max('w.seq').as('seq'))
        .whereRef('w.subject', '=', 'v.subject'),
    );

const selectNewest = preparedByIds((db, isOneOf) => newestVersions(db, isOneOf).compile());
const selectNewestStates = preparedByIds((db, isOneOf) => newestVersions(db, isOneOf).select('v.state').compile());

/**
 * Stores a version of each agent and delegation that a change affects: the subjects of its events, and those whose rows
 * it wrote, such as a delegation that ends earlier because another one was revoked. Therefore the versions contain
 * everything that decisions read.
 */
export const keepVersions =
  (database: Database, redactedKeys: ReadonlySet<string>): KeepVersions =>
  async (change, events, { firstEventSeq, lastSeq, invalidated }) => {
    const { db, epoch } = change;
    const touched = new Map<string, Touch>();
    for (const [i, event] of events.entries()) {
      const subject = subjectOf(event);
      if (subject !== undefined) touched.set(subject, { seq: firstEventSeq + i, type: event.type, actor: event.actor });
    }
    if (invalidated)
      for (const ofEpoch of [agentsOfEpoch, delegationsOfEpoch])
        for (const { id } of await ofEpoch(database, db, epoch))
          if (!touched.has(id)) touched.set(id, { seq: lastSeq, type: null, actor: change.actor });
    // The events of a change often share one actor.
    const texts = new Map<Actor, string>();
    const textOf = (actor: Actor): string => {
      const text = texts.get(actor) ?? JSON.stringify(actor);
      texts.set(actor, text);
      return text;
    };
    for (const ids of chunk([...touched.keys()])) {
      const states = await readStates(database, db, ids, redactedKeys);
      const newest = await readNewest(database, db, ids, touched);
      const rows = [...states].flatMap(([subject, state]) => {
        const { seq, type, actor } = touched.get(subject) as Touch;
        const before = newest.get(subject);
        if (before?.state === state) return [];
        const version = (before?.version ?? 0) + 1;
        return [{ subject, seq, version, timestamp: change.now, type, actor: textOf(actor), state }];
      });
      await insertVersions(database, db, rows);
    }
  };

async function readStates(
  database: Database,
  db: Db,
  ids: readonly string[],
  redactedKeys: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const states = new Map<string, string>();
  const agentIds = ids.filter((id) => id.startsWith('agt_'));
  const others = ids.filter((id) => !id.startsWith('agt_'));
  if (agentIds.length > 0)
    for (const row of await selectAgents(database, db, agentIds))
      states.set(row.id, JSON.stringify(agentSnapshot(row, redactedKeys)));
  if (others.length > 0)
    for (const row of await selectDelegations(database, db, others))
      states.set(row.id, JSON.stringify(delegationSnapshot(row)));
  return states;
}

/** The newest version. `state` is read only if the change of the subject emitted no event. */
interface Newest {
  readonly subject: string;
  readonly version: number;
  readonly state?: string;
}

/** Returns the newest versions that are stored. What was created in this change has none, so it is not looked up. */
async function readNewest(
  database: Database,
  db: Db,
  ids: readonly string[],
  touched: ReadonlyMap<string, Touch>,
): Promise<Map<string, Newest>> {
  const typeOf = (id: string): string | null => touched.get(id)?.type ?? null;
  const withEvent = ids.filter((id) => typeOf(id) !== null && !isFirst(typeOf(id)));
  const withoutEvent = ids.filter((id) => typeOf(id) === null);
  const newest: Newest[] = [];
  if (withEvent.length > 0) newest.push(...(await selectNewest(database, db, withEvent)));
  if (withoutEvent.length > 0) newest.push(...(await selectNewestStates(database, db, withoutEvent)));
  return new Map(newest.map((version) => [version.subject, version]));
}
