import { SYSTEM } from '../../access/actor.ts';
import type { Platform } from '../../platform.ts';
import { readKeyEvents, signersOf } from './begin.ts';
import { SealErrors } from './errors.ts';
import { openCheckpoint } from './note.ts';
import { readLog } from './store.ts';

type KeyEvent = 'ledger.key-added' | 'ledger.key-retired';

/** The keys of the current log. Throws 404 LEDGER_NOT_SEALED. */
async function currentKeys(platform: Pick<Platform, 'database' | 'ledgerKeys'>) {
  const log = await readLog(platform.database.read);
  if (!log) throw SealErrors.LEDGER_NOT_SEALED();
  const [newest, ...earlier] = await signersOf(platform, log.origin);
  if (!newest) throw SealErrors.LEDGER_NOT_SEALED();
  return { log, newest, earlier };
}

async function record({ ledger }: Pick<Platform, 'ledger'>, type: KeyEvent, vkey: string): Promise<void> {
  await ledger.change(SYSTEM, async ({ db, emit }) => {
    if (!(await readKeyEvents(db, type)).includes(vkey)) emit({ type, data: { vkey } });
  });
}

/** The next step of a rotation: record the newest key, add another key, or finish the rotation. */
export async function rotationState(
  platform: Pick<Platform, 'database' | 'ledgerKeys'>,
): Promise<'none' | 'unrecorded' | 'recorded'> {
  const { newest, earlier } = await currentKeys(platform);
  if (earlier.length === 0) return 'none';
  return (await readKeyEvents(platform.database.read, 'ledger.key-added')).includes(newest.vkey)
    ? 'recorded'
    : 'unrecorded';
}

/** Records the newest key in the ledger, signed with the earlier key. Returns its verifier key. */
export async function recordAddedKey(platform: Pick<Platform, 'database' | 'ledger' | 'ledgerKeys'>): Promise<string> {
  const { newest } = await currentKeys(platform);
  await record(platform, 'ledger.key-added', newest.vkey);
  return newest.vkey;
}

/**
 * Records that all keys but the newest are retired, and returns their verifier keys. undefined: the newest checkpoint
 * is not signed with the newest key, so that a service still runs without it.
 */
export async function recordRetiredKeys(
  platform: Pick<Platform, 'database' | 'ledger' | 'ledgerKeys'>,
): Promise<string[] | undefined> {
  const { log, newest, earlier } = await currentKeys(platform);
  if (log.checkpoint === null || !openCheckpoint(log.checkpoint, [newest])) return undefined;
  for (const { vkey } of earlier) await record(platform, 'ledger.key-retired', vkey);
  return earlier.map(({ vkey }) => vkey);
}
