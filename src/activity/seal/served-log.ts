import { isoTime } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';
import type { SealCheckpointRow, SealRow } from '../../storage/index.ts';
import { parseKey } from '../../verify/index.ts';
import { SealErrors } from './errors.ts';
import { keptAround } from './kept-checkpoints.ts';
import { sealer } from './sealer.ts';
import { readLog } from './store.ts';
import { cosigner, meets } from './witnesses/index.ts';

/** A log at its newest checkpoint. */
export interface ServedLog {
  readonly id: string;
  readonly origin: string;
  /** Rows that the checkpoint covers. */
  readonly size: number;
  /** A signed note. */
  readonly checkpoint: string;
  /** The id of a log that has ended; undefined for the current log. */
  readonly endedId?: string;
}

/** Longest time that a request waits for witnesses. */
const QUORUM_MS = 5000;

type Signed = SealRow & { checkpoint: string };

/**
 * Returns the log at its newest checkpoint or, with a policy, at the newest one that meets the policy. The checkpoint
 * is in the data folder on return.
 */
export async function newestServed({ stateOf }: Pick<Platform, 'stateOf'>): Promise<Signed | undefined> {
  const state = stateOf(sealer);
  const { policy } = stateOf(cosigner);
  const log = await state.newest();
  if (!log || !policy) return log;
  const { cosigned, cosigned_size } = log;
  const keys = state.signers.map(({ vkey }) => parseKey(vkey));
  if (cosigned === null || !meets(cosigned, { ...policy, logs: keys })) return undefined;
  return { ...log, checkpoint: cosigned, signed_size: cosigned_size };
}

/** Signs a checkpoint of all rows committed now, and has it cosigned if there is a policy. Waits for 5 s at most. */
export async function sealNow({ stateOf }: Pick<Platform, 'stateOf'>): Promise<void> {
  await stateOf(sealer).signNow();
  const witnesses = stateOf(cosigner);
  if (!witnesses.policy) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, QUORUM_MS);
  });
  await Promise.race([witnesses.ask(), late]).finally(() => clearTimeout(timer));
}

/** Returns the current log. The first checkpoint is signed on request. Throws 404 LEDGER_NOT_SEALED. */
export async function currentLog(platform: Pick<Platform, 'stateOf'>): Promise<ServedLog> {
  const state = platform.stateOf(sealer);
  let log = await newestServed(platform);
  if (!log && state.isOpen) {
    await sealNow(platform);
    log = await newestServed(platform);
  }
  if (!log) throw SealErrors.LEDGER_NOT_SEALED();
  return { id: log.log_id, origin: log.origin, size: log.signed_size, checkpoint: log.checkpoint };
}

/** Returns the log with an id, or the current one. Throws 404 LEDGER_LOG_NOT_FOUND and LEDGER_NOT_SEALED. */
export async function servedLog(
  platform: Pick<Platform, 'database' | 'stateOf'>,
  id: string | undefined,
): Promise<ServedLog> {
  const db = platform.database.read;
  if (id === undefined || (await readLog(db))?.log_id === id) return currentLog(platform);
  const ended = await db.selectFrom('seal_logs').selectAll().where('log_id', '=', id).executeTakeFirst();
  if (!ended) throw SealErrors.LEDGER_LOG_NOT_FOUND();
  const { origin, checkpoint } = ended;
  if (checkpoint === null) throw SealErrors.LEDGER_NOT_SEALED();
  return { id, origin, size: Number(checkpoint.split('\n')[1]), checkpoint, endedId: id };
}

/** Throws 404 LEDGER_LOG_NOT_FOUND, and 409 LEDGER_LOG_ENDED for a log that has ended and no longer proves entries. */
export async function assertCurrent(
  platform: Pick<Platform, 'database' | 'stateOf'>,
  id: string | undefined,
): Promise<void> {
  if (id !== undefined && (await servedLog(platform, id)).endedId !== undefined) throw SealErrors.LEDGER_LOG_ENDED();
}

const shown = (row: SealCheckpointRow | undefined) =>
  row ? { size: row.size, checkpoint: row.note, signedAt: isoTime(row.signed_at), stamp: row.stamp } : null;

/** Returns the kept checkpoints of a log next to a row. */
export async function checkpointsAround(
  { database }: Pick<Platform, 'database'>,
  { id, origin }: ServedLog,
  seq: number,
) {
  const { before, after } = await keptAround(database.read, id, seq);
  return { origin, before: shown(before), after: shown(after) };
}
