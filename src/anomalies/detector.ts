import { LRUCache } from 'lru-cache';
import type { Commit, NewEvent } from '../ledger/index.ts';
import { newId } from '../lib/ids.ts';
import type { Platform } from '../platform.ts';
import type { AnomalyRow, Db } from '../storage/index.ts';
import { type AgentState, detect, type Found, newState, type Seen } from './detect.ts';

const PROJECTION = 'anomalies';
/** Rows looked at, and so at most states written, in one transaction: decisions wait for it on SQLite. */
const SLICE = 500;
const MAX_STATES = 20_000;
/** Decisions kept in memory for the next look; beyond, they are read from the ledger. */
const MAX_WAITING = 50_000;
/** How long after a decision the detector looks at the latest. */
const LOOK_AFTER_MS = 1000;

interface Row extends Seen {
  readonly seq: number;
  readonly agentId: string;
  readonly userId: string;
}

interface Detected extends Found {
  readonly agentId: string;
  readonly userId: string;
}

/** Another process has gone on: what is held in memory is behind. */
class Superseded extends Error {}

/**
 * Follows the ledger in its order, each row once, whichever process wrote it and however often one stops: how far it has come
 * is written with what it remembers and with what it found. Of several processes the one that is first goes on.
 */
export class AnomalyDetector {
  readonly #platform: Platform;
  /** True up to `#upto`. */
  readonly #states = new LRUCache<string, AgentState>({ max: MAX_STATES });
  #upto = -1;
  /** What this process committed and has not been looked at: its first sequence is that behind `#upto`, or it is of no use. */
  #waiting: Commit[] = [];
  #waitingRows = 0;
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(platform: Platform) {
    this.#platform = platform;
    if (!platform.config.anomalies.enabled) return;
    platform.ledger.onCommit((commit) => {
      if (this.#waitingRows < MAX_WAITING) {
        this.#waiting.push(commit);
        this.#waitingRows += commit.records.length;
      }
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.look().catch((error: unknown) => platform.log.warn({ err: error }, 'the look for anomalies failed and is tried again'));
      }, LOOK_AFTER_MS).unref();
    });
  }

  /** Looks at everything that is committed by now. */
  look(): Promise<void> {
    if (!this.#platform.config.anomalies.enabled) return Promise.resolve();
    const turn = this.#turn.then(() => this.#lookOn());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Waits for a look under way, and begins none any more. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#turn;
  }

  async #lookOn(): Promise<void> {
    const { read } = this.#platform.database;
    const { seq: end } = await read.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow();
    for (;;) {
      const { upto } = await read.selectFrom('projections').select('upto').where('name', '=', PROJECTION).executeTakeFirstOrThrow();
      if (upto !== this.#upto) {
        this.#states.clear();
        this.#upto = upto;
      }
      if (upto >= end) return;
      try {
        await this.#slice(Math.min(end, upto + SLICE));
      } catch (error) {
        this.#states.clear();
        this.#upto = -1;
        if (!(error instanceof Superseded)) throw error;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #slice(end: number): Promise<void> {
    const rows = this.#fromMemory(end) ?? (await this.#fromLedger(end));
    await this.#load(new Set(rows.map((r) => r.agentId)));
    const touched = new Map<string, AgentState>();
    const detected: Detected[] = [];
    for (const row of rows) {
      const state = this.#states.get(row.agentId) ?? newState();
      this.#states.set(row.agentId, state);
      touched.set(row.agentId, state);
      for (const found of detect(state, row, this.#platform.config.anomalies)) detected.push({ ...found, agentId: row.agentId, userId: row.userId });
    }
    const from = this.#upto;
    if (detected.length === 0) await this.#platform.ledger.maintain((db) => this.#save(db, from, end, touched));
    else
      await this.#platform.ledger.change(async (change) => {
        await this.#save(change.db, from, end, touched);
        for (const one of detected) change.emit(await this.#keep(change.db, change.now, one));
      });
    this.#upto = end;
  }

  async #load(agentIds: ReadonlySet<string>): Promise<void> {
    const missing = [...agentIds].filter((id) => !this.#states.has(id));
    if (missing.length === 0) return;
    const rows = await this.#platform.database.read.selectFrom('anomaly_states').selectAll().where('agent_id', 'in', missing).execute();
    for (const row of rows) this.#states.set(row.agent_id, { ...newState(), ...(JSON.parse(row.state) as AgentState) });
  }

  /** Throws {@link Superseded} when another process has moved on from there. */
  async #save(db: Db, from: number, upto: number, touched: ReadonlyMap<string, AgentState>): Promise<void> {
    const moved = await db.updateTable('projections').set({ upto }).where('name', '=', PROJECTION).where('upto', '=', from).executeTakeFirst();
    if (moved.numUpdatedRows === 0n) throw new Superseded();
    const states = [...touched].map(([agent_id, state]) => ({ agent_id, state: JSON.stringify(state) }));
    if (states.length === 0) return;
    await db
      .insertInto('anomaly_states')
      .values(states)
      .onConflict((oc) => oc.column('agent_id').doUpdateSet((eb) => ({ state: eb.ref('excluded.state') })))
      .execute();
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
    return { type: 'anomaly.detected', agentId, userId, data: { anomalyId: row.id, agentId, kind, severity, observed, expected, evidence } };
  }

  /** Decisions up to `end`, when this process wrote everything since `#upto`; undefined: ask the ledger. */
  #fromMemory(end: number): Row[] | undefined {
    const commits = this.#waiting;
    let next = this.#upto + 1;
    let at = 0;
    while (at < commits.length && lastSeq(commits[at] as Commit) < next) at++;
    const first = at;
    const rows: Row[] = [];
    for (; at < commits.length && next <= end; at++) {
      const commit = commits[at] as Commit;
      if (commit.firstSeq > next) break;
      for (let i = next - commit.firstSeq; i < commit.records.length && commit.firstSeq + i <= end; i++) {
        const r = commit.records[i] as Commit['records'][number];
        rows.push({ seq: commit.firstSeq + i, agentId: r.agentId, userId: r.userId, auditId: r.id, resource: r.resource, allowed: r.result === 'allowed', at: commit.timestamp });
      }
      next = lastSeq(commit) + 1;
    }
    // What lies wholly behind is let go; so is all that cannot be used because something before it is missing.
    const whole = next > end;
    this.#waiting = commits.slice(whole ? first : Math.max(first, at));
    this.#waitingRows = this.#waiting.reduce((n, c) => n + c.records.length, 0);
    return whole ? rows : undefined;
  }

  async #fromLedger(end: number): Promise<Row[]> {
    const rows = await this.#platform.database.read
      .selectFrom('stream_events')
      .select(['seq', 'id', 'agent_id', 'user_id', 'resource', 'result', 'timestamp'])
      .where('seq', '>', this.#upto)
      .where('seq', '<=', end)
      .where('type', '=', 'audit')
      .orderBy('seq')
      .execute();
    return rows.map((r) => ({
      seq: r.seq,
      agentId: r.agent_id ?? '',
      userId: r.user_id ?? '',
      auditId: r.id,
      resource: r.resource ?? '',
      allowed: r.result === 'allowed',
      at: r.timestamp,
    }));
  }
}

const lastSeq = (commit: Commit): number => commit.firstSeq + commit.records.length + commit.events.length - 1;

const detectors = new WeakMap<Platform, AnomalyDetector>();

/** The detector of a service; made when first asked for. */
export function detectorOf(platform: Platform): AnomalyDetector {
  let detector = detectors.get(platform);
  if (!detector) {
    detector = new AnomalyDetector(platform);
    detectors.set(platform, detector);
  }
  return detector;
}
