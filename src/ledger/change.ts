import { randomInt } from 'node:crypto';
import { sql, type Transaction } from 'kysely';
import type { Actor } from '../access/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import { type Database, type Db, prepared, preparedInsert, type Tables } from '../storage/index.ts';
import { Deadline } from './deadline.ts';
import type { ActedEvent, AuditRecord, Commit, CommittedEvent, Head, NewEvent, PolicyCache } from './entry.ts';
import type { History } from './history.ts';
import type { LedgerTime } from './ledger-time.ts';
import { DATABASE_TIME } from './postgres-store.ts';
import { append } from './rows.ts';

/** A change in progress. Everything done through it commits together or not at all. */
export interface Change {
  readonly db: Transaction<Tables>;
  /** For prepared statements on `db`. */
  readonly database: Database;
  readonly now: number;
  /** Time of the newest commit before this change. It is later than `now` only during a reset of the ledger's clock. */
  readonly previousTime: number;
  /** The epoch of this change. Write it into `policy_epoch` of each row that the change touches. */
  readonly epoch: number;
  /** The epoch before this change. */
  readonly previousEpoch: number;
  /** Marks this as a change of policy or credentials: every instance applies it from its next decision on. */
  invalidate(): void;
  /** Writes the audit entry of a person's decision on an agent's call, or of an approval that expired. */
  record(record: AuditRecord): void;
  /** Appends an event caused by the change's actor. */
  emit(event: NewEvent): void;
  /** The actor of this change. Its reactions, and their reactions, have the same actor. */
  readonly actor: Actor;
  /**
   * Sets the actor from here on: for a request whose sender becomes known during the change, and for batched changes.
   */
  actAs(actor: Actor): void;
  /** Brings the policy in memory up to date with the start of this change, so that rules can be checked against it. */
  readPolicy(): Promise<void>;
}

/**
 * Runs in the change that emitted events of one type, whichever code emitted them. Events that it emits itself trigger
 * further reactions.
 */
export type Reaction = (change: Change, events: readonly NewEvent[]) => Promise<void>;

/** The positions of the events of a change in the ledger. */
export interface Placement {
  readonly firstEventSeq: number;
  /** New end of the ledger. */
  readonly lastSeq: number;
  /** Whether the change touched policy or credentials. */
  readonly invalidated: boolean;
}

/** Runs at the end of a change, after all reactions, in its transaction. May write, but must not emit events. */
export type KeepVersions = (change: Change, events: readonly ActedEvent[], placement: Placement) => Promise<void>;

export interface ChangeOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly policy: PolicyCache;
  readonly history: History;
  readonly time: LedgerTime;
  readonly reactions?: ReadonlyMap<string, readonly Reaction[]>;
  readonly keepVersions?: KeepVersions;
}

/**
 * Epochs increase by a random number up to this one, so that two different histories do not have the same epochs. The
 * sum of 2^27 changes is still a safe integer.
 */
const EPOCH_STEP = 2 ** 26;
/** About 10,000 epochs. An instance that is further behind drops its policy and reads it again. */
const KEPT_EPOCHS = (EPOCH_STEP / 2) * 10_000;
const PRUNED_EVERY = 64;

const head = (db: Db) => db.selectFrom('head').select(['seq', 'epoch', 'clock', 'writer']).where('id', '=', sql.lit(1));

const readHead = prepared<[], Head>((db) => head(db).compile());

const lockHead = prepared<[], Head>((db) =>
  head(db)
    .select(sql<number>`${sql.raw(DATABASE_TIME)}`.as('time'))
    .forUpdate()
    .compile(),
);

const moveHead = prepared((db, seq: number, epoch: number, clock: number) =>
  db.updateTable('head').set({ seq, epoch, clock }).where('id', '=', sql.lit(1)).compile(),
);

const insertEpoch = preparedInsert('epochs');

/** Inspects a change with its events, after its work and before it is rolled back. */
export type Inspect<R> = (change: Change, events: readonly ActedEvent[]) => Promise<R>;

/** A change that is rolled back. */
export interface Rehearsal<R> {
  readonly inspect: Inspect<R>;
  /** After this time the next statement throws 503 PREVIEW_TIMED_OUT: decisions wait for the change. */
  readonly maxMs: number;
}

/** A change after its commit. */
export interface AppliedChange<T> {
  readonly result: T;
  /** undefined if the change appended nothing to the ledger. */
  readonly commit: Commit | undefined;
  readonly invalidated: boolean;
}

/**
 * Runs `work` of the actor `by`, and the reactions to its events, in one transaction under the head row's lock, and
 * appends its records and events to the ledger. Returns after the commit is durable.
 */
export async function applyChange<T>(
  { database, clock, policy, history, time, reactions, keepVersions }: ChangeOptions,
  by: Actor,
  work: (change: Change) => Promise<T>,
  resetClock = false,
  rehearsal?: Rehearsal<never>,
): Promise<AppliedChange<T>> {
  const records: AuditRecord[] = [];
  const events: ActedEvent[] = [];
  let commit: Commit | undefined;
  let invalidated = false;
  const result = await database.write.transaction().execute(async (transaction) => {
    const db = rehearsal ? transaction.withPlugin(new Deadline(rehearsal.maxMs)) : transaction;
    const askedAt = clock.now();
    // SQLite locks the head with the whole file, when the transaction begins.
    const head = await (database.dialect === 'postgres' ? lockHead : readHead)(database, db);
    if (!head) throw new Error('The head row of the ledger is missing.');
    const now = resetClock ? time.now(head, askedAt) : time.after(head, askedAt);
    history.check(head);
    const epoch = head.epoch + 1 + randomInt(EPOCH_STEP);
    const change: { -readonly [Part in keyof Change]: Change[Part] } = {
      db,
      database,
      now,
      previousTime: head.clock,
      epoch,
      previousEpoch: head.epoch,
      invalidate: () => {
        invalidated = true;
      },
      record: (record) => {
        records.push(record);
      },
      emit: (event) => {
        events.push({ actor: change.actor, ...event });
      },
      actor: by,
      actAs: (other) => {
        change.actor = other;
      },
      readPolicy: async () => {
        if (policy.epoch !== head.epoch) await history.refresh(policy, head);
      },
    };
    const result = await work(change);
    for (let reacted = 0; reacted < events.length; ) {
      const emitted = events.slice(reacted);
      reacted = events.length;
      for (const group of groupEvents(emitted)) {
        change.actAs(group.actor);
        for (const react of reactions?.get(group.type) ?? []) await react(change, group.events);
      }
    }
    if (rehearsal) await rehearsal.inspect(change, events);
    const appended = records.length + events.length;
    if (keepVersions && (events.length > 0 || invalidated)) {
      change.actAs(by);
      const firstEventSeq = head.seq + 1 + records.length;
      await keepVersions(change, events, { firstEventSeq, lastSeq: head.seq + appended, invalidated });
    }
    if (appended > 0) {
      const firstSeq = head.seq + 1;
      const committed: CommittedEvent[] = await append(database, db, records, events, firstSeq, now);
      commit = { firstSeq, records, events: committed, timestamp: now };
    }
    if (appended > 0 || invalidated) {
      await moveHead(database, db, head.seq + appended, invalidated ? epoch : head.epoch, now);
    }
    if (invalidated) {
      await insertEpoch(database, db, { epoch });
      if (epoch % PRUNED_EVERY === 0)
        await db
          .deleteFrom('epochs')
          .where('epoch', '<', epoch - KEPT_EPOCHS)
          .execute();
    }
    return result;
  });
  return { result, commit, invalidated };
}

interface EventGroup {
  readonly type: string;
  readonly actor: Actor;
  readonly events: NewEvent[];
}

/** Groups events by type and actor. */
function groupEvents(emitted: readonly ActedEvent[]): EventGroup[] {
  const groups: EventGroup[] = [];
  for (const event of emitted) {
    const { type, actor } = event;
    const group = groups.find((one) => one.type === type && one.actor === actor);
    if (group) group.events.push(event);
    else groups.push({ type, actor, events: [event] });
  }
  return groups;
}

/**
 * Runs `work` and the reactions to its events as {@link applyChange} does, passes the result to `inspect`, and rolls it
 * back.
 */
export async function rehearseChange<R>(
  options: ChangeOptions,
  by: Actor,
  work: (change: Change) => Promise<unknown>,
  rehearsal: Rehearsal<R>,
): Promise<R> {
  let inspected: { readonly result: R } | undefined;
  const rolledBack = new Error('The change was rolled back.');
  const inspect: Inspect<never> = async (change, events) => {
    inspected = { result: await rehearsal.inspect(change, events) };
    throw rolledBack;
  };
  await applyChange(options, by, work, false, { ...rehearsal, inspect }).catch((error: unknown) => {
    if (error !== rolledBack) throw error;
  });
  return (inspected as { readonly result: R }).result;
}
