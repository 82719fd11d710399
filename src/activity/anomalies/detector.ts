import { SYSTEM } from '../../access/actor.ts';
import { isApprovalStep } from '../../authorization/permissions/index.ts';
import { newId } from '../../kernel/ids.ts';
import type { Commit, NewEvent } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { AnomalyRow, Db } from '../../storage/index.ts';
import { detect, type Found, type Seen } from './detect.ts';
import { AgentStates, savedUpto } from './states.ts';

const PROJECTION = 'anomalies';
/** Rows examined before the event loop gets a turn. */
const SLICE = 500;
/** Decisions kept in memory for the next run. Beyond that, they are read from the ledger. */
const MAX_WAITING = 50_000;
/** Maximum delay between a decision and its examination. */
const LOOK_AFTER_MS = 1000;

/** A class rather than a literal, because V8 would allocate the literals in the old space. */
class Row implements Seen {
  readonly seq: number;
  readonly agentId: string;
  readonly userId: string;
  readonly auditId: string;
  readonly resource: string;
  readonly allowed: boolean;
  readonly at: number;

  constructor(
    seq: number,
    agentId: string,
    userId: string,
    auditId: string,
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

/** The decisions of a commit, without its other data, which is large and would be costly to collect later. */
interface Waiting {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly rows: readonly Row[];
}

interface Detected extends Found {
  readonly seq: number;
  readonly agentId: string;
  readonly userId: string;
}

/**
 * Follows the ledger in its order, across processes and restarts. Every process keeps the state of all agents. An
 * anomaly is reported once, by the process that first advances the stored position past it.
 */
export class AnomalyDetector {
  readonly #platform: Platform;
  readonly #states = new AgentStates();
  /** The last examined sequence. undefined before the first run. */
  #upto: number | undefined;
  /** Found but not yet reported. */
  #found: Detected[] = [];
  /** Commits of this process that were not examined yet. Only useful if they start right after `#upto`. */
  #waiting: Waiting[] = [];
  #waitingRows = 0;
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  /** Commits wait during a run, so that what is reported and written reflects one moment. */
  #looking = false;

  constructor(platform: Platform) {
    this.#platform = platform;
    if (!platform.config.anomalies.enabled) return;
    platform.ledger.history.onLoss((seq) => {
      this.#upto = undefined;
      this.#keepWaiting([]);
      this.#next(async () => {
        this.#upto = undefined;
        this.#found = [];
        this.#keepWaiting([]);
        this.#states.forget();
        // What was written between the loss and its discovery.
        await platform.ledger.maintain((db) => db.deleteFrom('anomaly_states').where('seq', '>', seq).execute());
      }).catch((error: unknown) => platform.log.warn({ err: error }, 'states of lost decisions could not be deleted'));
    });
    platform.ledger.onCommit((commit) => {
      const waiting = decisionsOf(commit);
      if (!this.#lookAtOnce(waiting) && this.#waitingRows < MAX_WAITING) {
        this.#waiting.push(waiting);
        this.#waitingRows += waiting.rows.length;
      }
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.look().catch((error: unknown) =>
          platform.log.warn({ err: error }, 'the look for anomalies failed and is tried again'),
        );
      }, LOOK_AFTER_MS).unref();
    });
  }

  /** Examines everything that is committed by now. */
  look(): Promise<void> {
    return this.#next(() => this.#lookOn(false));
  }

  /** Waits for a current run, writes the state, and starts no further run. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#next(() => (this.#upto === undefined ? Promise.resolve() : this.#lookOn(true)));
  }

  #next(work: () => Promise<void>): Promise<void> {
    if (!this.#platform.config.anomalies.enabled) return Promise.resolve();
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #lookOn(last: boolean): Promise<void> {
    this.#looking = true;
    try {
      await this.#lookAndTell(last);
    } finally {
      this.#looking = false;
      this.#catchUp();
    }
  }

  async #lookAndTell(last: boolean): Promise<void> {
    const { database, ledger, clock } = this.#platform;
    const { seq: end } = await database.read
      .selectFrom('head')
      .select('seq')
      .where('id', '=', 1)
      .executeTakeFirstOrThrow();
    this.#upto ??= await savedUpto(database.read);
    while (this.#upto < end) {
      await this.#slice(this.#upto, Math.min(end, this.#upto + SLICE));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await this.#tell(end);
    // Only now, so that the state of a decision is never stored before its anomalies are reported.
    await this.#states.save((work) => ledger.maintain(work), clock.now(), end, last);
  }

  async #slice(from: number, end: number): Promise<void> {
    const rows = this.#fromMemory(from, end) ?? (await this.#fromLedger(from, end));
    await this.#states.load(this.#platform.database.read, new Set(rows.map((r) => r.agentId)));
    for (const row of rows) this.#see(row);
    this.#upto = end;
  }

  /** Examines a commit immediately if everything before it was examined and its agents are in memory. */
  #lookAtOnce({ firstSeq, lastSeq, rows }: Waiting): boolean {
    if (this.#looking || this.#upto !== firstSeq - 1 || !rows.every((r) => this.#states.get(r.agentId))) return false;
    for (const row of rows) this.#see(row);
    this.#upto = lastSeq;
    return true;
  }

  #catchUp(): void {
    const commits = this.#waiting;
    let at = 0;
    while (
      at < commits.length &&
      ((commits[at] as Waiting).lastSeq <= (this.#upto ?? -1) || this.#lookAtOnce(commits[at] as Waiting))
    )
      at++;
    this.#keepWaiting(commits.slice(at));
  }

  #keepWaiting(commits: Waiting[]): void {
    this.#waiting = commits;
    this.#waitingRows = commits.reduce((n, c) => n + c.rows.length, 0);
  }

  #see(row: Row): void {
    const { seq, agentId, userId } = row;
    const remembered = this.#states.get(agentId);
    if (!remembered || seq <= remembered.seq) return;
    for (const found of detect(remembered.state, row, this.#platform.config.anomalies))
      this.#found.push({ ...found, seq, agentId, userId });
    this.#states.changed(agentId, remembered, seq, this.#platform.clock.now());
  }

  /** Reports what was found up to `end`, except what another process has reported. */
  async #tell(end: number): Promise<void> {
    const { database, ledger } = this.#platform;
    for (;;) {
      const { upto } = await database.read
        .selectFrom('projections')
        .select('upto')
        .where('name', '=', PROJECTION)
        .executeTakeFirstOrThrow();
      this.#found = this.#found.filter((one) => one.seq > upto);
      if (upto >= end) return;
      const move = async (db: Db): Promise<boolean> => {
        const moved = await db
          .updateTable('projections')
          .set({ upto: end })
          .where('name', '=', PROJECTION)
          .where('upto', '=', upto)
          .executeTakeFirst();
        return moved.numUpdatedRows > 0n;
      };
      const moved =
        this.#found.length === 0
          ? await ledger.maintain(move)
          : await ledger.change(SYSTEM, async (change) => {
              if (!(await move(change.db))) return false;
              for (const one of this.#found) change.emit(await this.#keep(change.db, change.now, one));
              return true;
            });
      if (moved) this.#found = [];
    }
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

  /** Returns the decisions after `from` up to `end` if this process wrote all of them, otherwise undefined. */
  #fromMemory(from: number, end: number): Row[] | undefined {
    const commits = this.#waiting;
    let next = from + 1;
    let at = 0;
    while (at < commits.length && (commits[at] as Waiting).lastSeq < next) at++;
    const first = at;
    const rows: Row[] = [];
    for (; at < commits.length && next <= end; at++) {
      const commit = commits[at] as Waiting;
      if (commit.firstSeq > next) break;
      for (const row of commit.rows) if (row.seq >= next && row.seq <= end) rows.push(row);
      next = commit.lastSeq + 1;
    }
    // Drops commits that were examined, and those that cannot be used because an earlier one is missing.
    const whole = next > end;
    this.#keepWaiting(commits.slice(whole ? first : Math.max(first, at)));
    return whole ? rows : undefined;
  }

  async #fromLedger(from: number, end: number): Promise<Row[]> {
    const rows = await this.#platform.database.read
      .selectFrom('stream_events')
      .select(['seq', 'id', 'agent_id', 'user_id', 'resource', 'result', 'reason', 'timestamp'])
      .where('seq', '>', from)
      .where('seq', '<=', end)
      .where('type', '=', 'audit')
      .orderBy('seq')
      .execute();
    return rows
      .filter((r) => !isApprovalStep(r.reason))
      .map(
        (r) =>
          new Row(
            r.seq,
            r.agent_id ?? '',
            r.user_id ?? '',
            r.id,
            r.resource ?? '',
            r.result === 'allowed',
            r.timestamp,
          ),
      );
  }
}

/** Returns the decisions of agents, without those of people about approvals. */
function decisionsOf({ firstSeq, records, events, timestamp }: Commit): Waiting {
  const rows: Row[] = [];
  for (const [i, r] of records.entries())
    if (!isApprovalStep(r.reason))
      rows.push(new Row(firstSeq + i, r.agentId, r.userId, r.id, r.resource, r.result === 'allowed', timestamp));
  return { firstSeq, lastSeq: firstSeq + records.length + events.length - 1, rows };
}

const detectors = new WeakMap<Platform, AnomalyDetector>();

/** Returns the detector of a service, created on first use. */
export function detectorOf({ service: platform }: Platform): AnomalyDetector {
  let detector = detectors.get(platform);
  if (!detector) {
    detector = new AnomalyDetector(platform);
    detectors.set(platform, detector);
  }
  return detector;
}
