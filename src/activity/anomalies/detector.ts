import { SYSTEM } from '../../access/actor.ts';
import { isApprovalStep } from '../../authorization/permissions/index.ts';
import { asId, type Id, newId } from '../../kernel/ids.ts';
import {
  type Commit,
  Lease,
  LedgerFollower,
  lastSeqOf,
  movePosition,
  type NewEvent,
  type RecentCommit,
  RecentRows,
  readHead,
  readPosition,
  Superseded,
} from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import { type AnomalyRow, type Db, selectArrays } from '../../storage/index.ts';
import { detect, type Found, type Seen } from './detect.ts';
import { AgentStates, savedUpto } from './states.ts';

/** Name of the stored position up to which findings are reported. */
const TOLD = 'anomalies';
/** Rows examined before the detector yields to the event loop. */
const SLICE = 500;
/** Decisions kept in memory for the next run. Beyond that, they are read from the ledger. */
const MAX_RECENT = 50_000;
/** Maximum delay between a decision of the instance that looks, or the discovery of another's, and its examination. */
const LOOK_AFTER_MS = 1000;
/** Interval at which an instance checks whether another one is still detecting. */
const LOOK_AGAIN_MS = 3000;
/** How long a read waits for the detecting instance before its own instance takes over. */
const PATIENCE_MS = 500;
const POLL_MS = 10;
/** If another instance makes no progress for this time, it is no longer detecting. */
const ALIVE_MS = 3 * LOOK_AGAIN_MS;
/** Asks the detecting instance to examine the ledger now. */
const LOOK_NOW = 'look';

/** A class rather than a literal, because V8 would allocate the literals in the old space. */
class Row implements Seen {
  readonly seq: number;
  readonly agentId: Id<'agent'>;
  readonly userId: Id<'user'>;
  readonly auditId: Id<'audit'>;
  readonly resource: string;
  readonly allowed: boolean;
  readonly at: number;

  constructor(
    seq: number,
    agentId: Id<'agent'>,
    userId: Id<'user'>,
    auditId: Id<'audit'>,
    resource: string,
    allowed: boolean,
    at: number,
  ) {
    this.seq = seq;
    this.agentId = agentId;
    this.userId = userId;
    this.auditId = auditId;
    this.resource = resource;
    this.allowed = allowed;
    this.at = at;
  }
}

interface Detected extends Found {
  readonly seq: number;
  readonly agentId: Id<'agent'>;
  readonly userId: Id<'user'>;
}

/**
 * Follows the ledger in its order, across processes and restarts. One of several instances detects anomalies, and keeps
 * the states of the agents in memory; the others take over if its position does not advance. If two detect at the same
 * time, an anomaly is reported once, by the one that first advances the stored position past it, and the other stops.
 */
export class AnomalyDetector {
  readonly #platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'log'>;
  readonly #patienceMs: number;
  readonly #states = new AgentStates();
  readonly #follower: LedgerFollower;
  /** Found but not yet reported. */
  #found: Detected[] = [];
  /** Decisions of this process that were not examined yet, without the other data of their commits. */
  readonly #recent = new RecentRows<Row>(MAX_RECENT);
  /** Commits wait during a run, so that what is reported and written reflects one moment. */
  #looking = false;
  /** The stored position as this instance wrote it, or found it when it began to detect. */
  #told: number | undefined;
  /** Held by the detecting instance. */
  readonly #lease: Lease;
  /** When another instance was last known to be detecting. */
  #othersLookedAt = Number.NEGATIVE_INFINITY;

  constructor(
    platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'log'>,
    patienceMs: number = PATIENCE_MS,
  ) {
    this.#platform = platform;
    this.#patienceMs = patienceMs;
    this.#lease = new Lease(platform.database, TOLD);
    if (platform.config.anomalies.enabled) {
      platform.ledger.history.onHead((seq) => {
        if (seq > (this.#follower.position ?? 0)) this.#follower.runSoon();
      });
      platform.ledger.notices?.onRequest(LOOK_NOW, () => {
        if (this.#looks) this.#follower.runSoon(0);
      });
      platform.ledger.history.onLoss((seq) => {
        this.#follower.reset();
        this.#recent.clear();
        this.#follower
          .exclusively(async () => {
            this.#forget();
            // States that were written between the loss and its discovery.
            await platform.ledger.maintain((db) => db.deleteFrom('anomaly_states').where('seq', '>', seq).execute());
          })
          .catch((error: unknown) =>
            platform.log.warn({ err: error }, 'states of lost decisions could not be deleted'),
          );
      });
    }
    this.#follower = new LedgerFollower({
      database: platform.database,
      sliceSize: SLICE,
      readStart: () => savedUpto(platform.database.read),
      onSlice: (from, upto) => this.#slice(from, upto),
      afterSlice: async () => void (await this.#lease.hold()),
      onCommit: (commit, joins) => {
        this.#follower.runSoon();
        if (!this.#looks && platform.database.dialect === 'postgres') return false;
        const decisions = decisionsOf(commit);
        const looked = joins && !this.#looking && this.#lookAtOnce(decisions);
        if (!looked) this.#recent.add(decisions);
        return looked;
      },
      background: {
        run: () => this.lookInTurn(),
        delayMs: LOOK_AFTER_MS,
        onError: (error) => platform.log.warn({ err: error }, 'the look for anomalies failed and is tried again'),
      },
    });
    if (platform.config.anomalies.enabled) platform.ledger.onCommit(this.#follower.commit);
  }

  /** Whether this instance is the detecting one. */
  get #looks(): boolean {
    return this.#follower.position !== undefined;
  }

  /** The next detection begins at the stored states. */
  #forget(): void {
    this.#follower.reset();
    this.#recent.clear();
    this.#found = [];
    this.#states.forget();
    this.#told = undefined;
  }

  /** Returns after everything that is committed by now is examined, by this instance or another one. */
  async look(): Promise<void> {
    if (!this.#platform.config.anomalies.enabled) return;
    do {
      if (await this.#othersLook()) return;
      if (!this.#looks) await this.#lease.seize();
    } while (!(await this.#follower.exclusively(() => this.#lookOn(false))));
  }

  /** Examines everything that is committed by now, unless another instance does. */
  async lookInTurn(): Promise<void> {
    if (!this.#platform.config.anomalies.enabled) return;
    if (await this.#lease.hold()) await this.#follower.exclusively(() => this.#lookOn(false));
    else await this.#wait();
  }

  /** Lets another instance detect. Checks later whether it does, if there is something to examine. */
  async #wait(): Promise<void> {
    this.#othersLookedAt = performance.now();
    if (this.#looks) await this.#follower.exclusively(async () => this.#forget());
    const { read } = this.#platform.database;
    if ((await readHead(read)) > ((await readPosition(read, TOLD)) ?? 0)) this.#follower.runSoon(LOOK_AGAIN_MS);
  }

  /** Waits a moment for the detecting instance. Returns whether everything that is committed by now is examined. */
  async #othersLook(): Promise<boolean> {
    const { database, ledger } = this.#platform;
    if (this.#looks || performance.now() - this.#othersLookedAt > ALIVE_MS) return false;
    const head = await readHead(database.read);
    const deadline = performance.now() + this.#patienceMs;
    ledger.notices?.request(LOOK_NOW);
    do {
      if (((await readPosition(database.read, TOLD)) ?? 0) >= head) return true;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    } while (performance.now() < deadline);
    return false;
  }

  /**
   * Waits for a current run, writes the state, and starts no further run. What cannot be written is examined again
   * after the next start.
   */
  async stop(): Promise<void> {
    await this.#follower
      .exclusively(async () => {
        if (this.#follower.position !== undefined) await this.#lookOn(true);
      })
      .catch((error: unknown) => {
        this.#platform.log.warn({ err: error }, 'the state of the anomaly detector could not be stored');
      });
    await this.#follower.stop();
    await this.#lease.release().catch(() => {});
  }

  /** Returns false if another instance is detecting. */
  async #lookOn(last: boolean): Promise<boolean> {
    this.#looking = true;
    try {
      return await this.#lookAndTell(last);
    } finally {
      this.#looking = false;
      this.#recent.drain(this.#follower.position ?? -1, (commit) => {
        const looked = this.#follower.position === commit.firstSeq - 1 && this.#lookAtOnce(commit);
        if (looked) this.#follower.moveTo(commit.lastSeq);
        return looked;
      });
    }
  }

  async #lookAndTell(last: boolean): Promise<boolean> {
    const { ledger, clock } = this.#platform;
    const end = await this.#follower.catchUp();
    if (!(await this.#tell(end))) {
      this.#othersLookedAt = performance.now();
      this.#forget();
      await this.#lease.release();
      return false;
    }
    // Only now, so that the state of a decision is never stored before its anomalies are reported.
    await this.#states.save((work) => ledger.maintain(work), clock.now(), end, last);
    return true;
  }

  async #slice(from: number, upto: number): Promise<number> {
    const rows = this.#recent.slice(from, upto) ?? (await this.#fromLedger(from, upto));
    await this.#states.load(this.#platform.database.read, new Set(rows.map((r) => r.agentId)));
    for (const row of rows) this.#see(row);
    return upto;
  }

  /** Examines a commit immediately if its agents are in memory. */
  #lookAtOnce({ rows }: RecentCommit<Row>): boolean {
    if (!rows.every((r) => this.#states.get(r.agentId))) return false;
    for (const row of rows) this.#see(row);
    return true;
  }

  #see(row: Row): void {
    const { seq, agentId, userId } = row;
    const remembered = this.#states.get(agentId);
    if (!remembered || seq <= remembered.seq) return;
    for (const found of detect(remembered.state, row, this.#platform.config.anomalies))
      this.#found.push({ seq, agentId, userId, ...found });
    this.#states.changed(agentId, remembered, seq, this.#platform.clock.now());
  }

  /** Reports the anomalies up to `end`. Returns false if another instance has reported some since. */
  async #tell(end: number): Promise<boolean> {
    const { database, ledger } = this.#platform;
    const upto = (await readPosition(database.read, TOLD)) ?? 0;
    this.#told ??= upto;
    if (upto !== this.#told) return false;
    if (upto >= end) return true;
    // Detection begins again at the stored states, and finds again what was reported since.
    const found = this.#found.filter((one) => one.seq > upto);
    try {
      if (found.length === 0) await ledger.maintain((db) => movePosition(db, [TOLD], upto, end));
      else
        await ledger.change(SYSTEM, async (change) => {
          await movePosition(change.db, [TOLD], upto, end);
          for (const one of found) change.emit(await this.#keep(change.db, change.now, one));
        });
    } catch (error) {
      if (error instanceof Superseded) return false;
      throw error;
    }
    this.#told = end;
    this.#found = [];
    return true;
  }

  async #keep(db: Db, now: number, found: Detected): Promise<NewEvent> {
    const { kind, severity, observed, expected, evidence, agentId, userId } = found;
    const row: AnomalyRow = {
      id: newId('anomaly', now),
      agent_id: agentId,
      user_id: userId,
      kind,
      severity,
      observed: JSON.stringify(observed),
      expected: JSON.stringify(expected),
      evidence: JSON.stringify(evidence),
      detected_at: found.at,
      acknowledged_at: null,
      acknowledged_by: null,
      note: null,
    };
    await db.insertInto('anomalies').values(row).execute();
    return {
      type: 'anomaly.detected',
      agentId,
      userId,
      data: { anomalyId: row.id, agentId, kind, severity, observed, expected, evidence },
    };
  }

  async #fromLedger(from: number, upto: number): Promise<Row[]> {
    const { database } = this.#platform;
    const query = database.read
      .selectFrom('stream_events')
      .select(['seq', 'agent_id', 'user_id', 'id', 'resource', 'result', 'timestamp', 'reason'])
      .where('seq', '>=', from)
      .where('seq', '<=', upto)
      .where('type', '=', 'audit')
      .orderBy('seq');
    const rows = await selectArrays<Columns>(database, query);
    return rows
      .filter(([, , , , , , , reason]) => !isApprovalStep(reason))
      .map(
        ([seq, agentId, userId, id, resource, result, at]) =>
          new Row(
            seq,
            agentId ?? asId('agent', ''),
            userId ?? asId('user', ''),
            id,
            resource ?? '',
            result === 'allowed',
            at,
          ),
      );
  }
}

type Columns = [
  seq: number,
  agentId: Id<'agent'> | null,
  userId: Id<'user'> | null,
  id: Id<'audit'>,
  resource: string | null,
  result: string | null,
  timestamp: number,
  reason: string | null,
];

/** Returns the decisions of agents, without those of people about approvals. */
function decisionsOf(commit: Commit): RecentCommit<Row> {
  const { firstSeq, records, timestamp } = commit;
  const rows: Row[] = [];
  for (const [i, r] of records.entries())
    if (!isApprovalStep(r.reason))
      rows.push(new Row(firstSeq + i, r.agentId, r.userId, r.id, r.resource, r.result === 'allowed', timestamp));
  return { firstSeq, lastSeq: lastSeqOf(commit), rows };
}

export const anomalyDetector = defineState((platform) => new AnomalyDetector(platform));

/** Returns the detector of a service. */
export const detectorOf = ({ stateOf }: Pick<Platform, 'stateOf'>): AnomalyDetector => stateOf(anomalyDetector);
