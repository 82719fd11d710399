import type { z } from 'zod';
import { isoTime } from '../../kernel/clock.ts';
import { readHead } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { parseKey } from '../../verify/index.ts';
import { readKeyEvents, signersOf } from './begin.ts';
import { SealErrors } from './errors.ts';
import { noteVerifier, openCheckpoint, vkeyOf } from './note.ts';
import type { LedgerKeys, LedgerLogs, LedgerStatus } from './schema.ts';
import { sealer } from './sealer.ts';
import { type ServedLog, servedLog } from './served-log.ts';
import { readLog } from './store.ts';
import { cosigner } from './witnesses/index.ts';

/** The verifier keys of a log, by default the current one. Throws 404 LEDGER_NOT_SEALED and LEDGER_LOG_NOT_FOUND. */
export async function ledgerKeys(
  platform: Pick<Platform, 'database' | 'ledgerKeys' | 'stateOf'>,
  id?: string,
): Promise<z.output<typeof LedgerKeys>> {
  const current = await readLog(platform.database.read);
  if (id === undefined || current?.log_id === id) {
    if (!current) throw SealErrors.LEDGER_NOT_SEALED();
    return { origin: current.origin, keys: (await signersOf(platform, current.origin)).map(({ vkey }) => vkey) };
  }
  const ended = await servedLog(platform, id);
  return { origin: ended.origin, keys: await keysOfEnded(platform, ended) };
}

/**
 * Returns the keys that signed an ended log: those of its last checkpoint and those retired before. The service may
 * have other keys by now.
 */
async function keysOfEnded(
  platform: Pick<Platform, 'database' | 'ledgerKeys'>,
  { origin, checkpoint }: ServedLog,
): Promise<string[]> {
  const db = platform.database.read;
  const [added, retired] = [await readKeyEvents(db, 'ledger.key-added'), await readKeyEvents(db, 'ledger.key-retired')];
  const now = (await signersOf(platform, origin)).map(({ vkey }) => vkey);
  // A key that was retired in a later log is recorded under the name of that log.
  const renamed = [...added, ...retired].map((vkey) => vkeyOf(origin, parseKey(vkey).encoded));
  const signing = [...new Set([...now, ...renamed])].filter((vkey) => openCheckpoint(checkpoint, [noteVerifier(vkey)]));
  const before = retired.filter((vkey) => parseKey(vkey).name === origin).toReversed();
  return [...new Set([...signing, ...before])];
}

/** Returns the current log and those that ended, newest first. */
export async function ledgerLogs({ database }: Pick<Platform, 'database'>): Promise<z.output<typeof LedgerLogs>> {
  const log = await readLog(database.read);
  const ended = await database.read.selectFrom('seal_logs').selectAll().orderBy('ended_at', 'desc').execute();
  return [
    ...(log ? [{ ...log, size: log.signed_size, ended_at: null }] : []),
    ...ended.map((each) => ({ ...each, ended_at: each.ended_at })),
  ].map(({ log_id: id, origin, size, checkpoint, ended_at }) => ({
    id,
    origin,
    size,
    checkpoint,
    endedAt: ended_at === null ? null : isoTime(ended_at),
  }));
}

/** Returns how far the ledger is sealed, or how far an ended log was sealed. Throws 404 LEDGER_LOG_NOT_FOUND. */
export async function ledgerStatus(
  platform: Pick<Platform, 'config' | 'database' | 'stateOf'>,
  id?: string,
): Promise<LedgerStatus> {
  const log = id === undefined ? undefined : await servedLog(platform, id);
  if (log?.endedId === undefined) return currentStatus(platform);
  const { origin, size } = log;
  return {
    sealing: false,
    origin,
    head: size,
    size,
    signedSize: size,
    lagRows: 0,
    halted: null,
    cosignedSize: null,
    publishedSize: null,
    witnesses: [],
  };
}

async function currentStatus(platform: Pick<Platform, 'config' | 'database' | 'stateOf'>): Promise<LedgerStatus> {
  const state = platform.stateOf(sealer);
  const witnesses = platform.stateOf(cosigner);
  const db = platform.database.read;
  // The log is read first, so that it is never ahead of the head.
  const log = await readLog(db);
  const head = await readHead(db);
  const signedSize = log?.signed_size ?? 0;
  return {
    sealing: state.isOpen && state.halted === undefined,
    origin: log?.origin ?? null,
    head,
    size: log?.size ?? 0,
    signedSize,
    lagRows: log ? head - signedSize : 0,
    halted: state.halted ?? null,
    cosignedSize: log && witnesses.policy ? log.cosigned_size : null,
    publishedSize: log && platform.config.ledger.publish !== undefined ? log.published_size : null,
    witnesses: log ? await witnesses.status(log.log_id) : [],
  };
}
