import { randomBytes } from 'node:crypto';
import { SYSTEM } from '../../access/actor.ts';
import { ConfigError } from '../../kernel/config.ts';
import { readHead, readPosition, setPosition, storedObject } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, SealRow } from '../../storage/index.ts';
import { readAnchor, removeUnfinishedAnchors } from './anchor.ts';
import { whyNotContinued } from './continues.ts';
import { type NoteSigner, noteSigner, noteVerifier, openCheckpoint } from './note.ts';
import { sealer } from './sealer.ts';
import { readLog } from './store.ts';
import { cosigner, readPolicy } from './witnesses/index.ts';

/** Positions in `projections`: the event with which the log began, and the last time sealing was switched off. */
const BEGUN = 'seal/begun';
const STOPPED = 'seal/stopped';

const RECOVER = 'Run npx legate ledger recover, which ends that log and begins another.';

const refusal = (problem: string): ConfigError =>
  new ConfigError([problem], 'Legate does not start, because the sealed ledger was rolled back:');

export async function signersOf({ ledgerKeys }: Pick<Platform, 'ledgerKeys'>, origin: string): Promise<NoteSigner[]> {
  return (await ledgerKeys()).map((seed) => noteSigner(origin, Buffer.from(seed, 'base64url')));
}

/**
 * The keys that have signed the newest checkpoint. A command signs with these only: the first checkpoint with an added
 * key shows that the service was restarted with it.
 */
function signersInUse(signers: NoteSigner[], checkpoint: string | null): NoteSigner[] {
  const used = checkpoint === null ? [] : signers.filter((signer) => openCheckpoint(checkpoint, [signer]));
  return used.length > 0 ? used : signers;
}

/** The verifier keys that the ledger records as added or retired. */
export async function readKeyEvents(db: Db, type: 'ledger.key-added' | 'ledger.key-retired'): Promise<string[]> {
  const rows = await db.selectFrom('stream_events').select('data').where('type', '=', type).execute();
  return rows.map(({ data }) => storedObject(data)['vkey']).filter((vkey) => typeof vkey === 'string');
}

/**
 * Begins or continues the sealed log. A process that does not serve neither begins, stops nor resumes sealing, because
 * only the configuration of the service counts. Throws a ConfigError if the database is older than the newest
 * checkpoint in the data folder.
 */
export async function openSealedLog(
  platform: Pick<
    Platform,
    'background' | 'baseUrl' | 'config' | 'database' | 'instance' | 'ledger' | 'ledgerKeys' | 'stateOf'
  >,
): Promise<void> {
  const { serves } = platform.instance;
  if (platform.config.ledger.seal === 'off') return serves ? stopSealing(platform) : undefined;
  const path = platform.config.ledger.policy;
  const policy = path === undefined ? undefined : readPolicy(path);
  if (serves) removeUnfinishedAnchors(platform.config.dataDir);
  const anchor = readAnchor(platform.config.dataDir);
  let log = await readLog(platform.database.read);
  if (!log && anchor !== undefined)
    throw refusal(`The data folder has a checkpoint of a log that the database does not have. ${RECOVER}`);
  // A command may run before the keys and the address of the service are in place, as after a restore.
  if (!log && !serves) return;
  log ??= await beginLog(platform);
  if (serves) await resumeSealing(platform);
  await assertContinues(platform, log, anchor);
  if (!serves && (await isStopped(platform.database.read))) return;
  const all = await signersOf(platform, log.origin);
  const signers = serves ? all : signersInUse(all, log.checkpoint);
  const begunAt = (await readPosition(platform.database.read, BEGUN)) ?? 0;
  const witnesses = platform.stateOf(cosigner);
  if (policy)
    witnesses.open(policy, () =>
      platform.background.run('asking the witnesses of the ledger', () => witnesses.askIfDue()),
    );
  platform.stateOf(sealer).open({ id: log.log_id, origin: log.origin, signers, begunAt }, log);
  // Before new rows make a database that was rolled back as large as what the witnesses have cosigned.
  if (policy && serves && log.signed_size > 0)
    platform.background.run('asking the witnesses of the ledger', () => witnesses.ask());
}

/**
 * Throws a ConfigError if the newest checkpoint of the data folder, if any, does not match the tree in the database.
 * `anchor` must have been read before `log`, because a running service signs a tree in the database first, and writes
 * its checkpoint to the data folder afterwards.
 */
export async function assertContinues(
  platform: Pick<Platform, 'database' | 'ledgerKeys'>,
  log: SealRow,
  anchor: string | undefined,
): Promise<void> {
  if (anchor === undefined) return;
  const { database } = platform;
  const checkpoint =
    openCheckpoint(anchor, await signersOf(platform, log.origin)) ??
    openCheckpoint(anchor, (await readKeyEvents(database.read, 'ledger.key-retired')).map(noteVerifier));
  if (checkpoint?.origin !== log.origin)
    throw refusal(`The checkpoint in the data folder does not belong to the log ${log.origin}. ${RECOVER}`);
  const problem = await whyNotContinued(database.read, log, checkpoint);
  if (problem !== undefined) throw refusal(`${problem} ${RECOVER}`);
}

/** Creates the log of this database, unless another instance has done so in the meantime. */
async function beginLog(platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'ledger'>): Promise<SealRow> {
  const { database, ledger } = platform;
  const before = await countRows(database.read);
  await ledger.change(SYSTEM, async ({ db, emit }) => {
    if (await readLog(db)) return;
    const ended = await db.selectFrom('seal_logs').selectAll().orderBy('ended_at', 'desc').limit(1).executeTakeFirst();
    const log_id = randomBytes(4).toString('hex');
    const origin = originOf(platform, log_id, ended !== undefined);
    const row = { log_id, origin, size: 0, signed_size: 0, checkpoint: null, halted: null };
    await db
      .insertInto('seal')
      .values({ id: 1, ...row })
      .execute();
    const head = await readHead(db);
    await setPosition(db, BEGUN, head + 1);
    await db.deleteFrom('seal_witnesses').execute();
    if (!ended) emit({ type: 'ledger.begun', data: before });
    else {
      const { size, root } = partsOf(ended.checkpoint);
      emit({ type: 'ledger.restored', data: { origin: ended.origin, size, root, restoredSize: head } });
    }
  });
  return (await readLog(database.read)) as SealRow;
}

/** Size and root that a note states. */
function partsOf(note: string | null): { size: number; root: string } {
  const [, size = '0', root = ''] = (note ?? '').split('\n');
  return { size: Number(size), root };
}

function originOf(
  { baseUrl, config }: Pick<Platform, 'baseUrl' | 'config'>,
  logId: string,
  isFurther: boolean,
): string {
  const { origin } = config.ledger;
  if (origin !== undefined) return isFurther ? `${origin}/${logId}` : origin;
  const { host, pathname } = new URL(baseUrl);
  return `${host}${pathname.replace(/\/$/, '')}/ledger/${logId}`;
}

async function countRows(db: Db): Promise<{ rows: number; missing: number }> {
  const head = await readHead(db);
  const { n } = await db
    .selectFrom('stream_events')
    .select((eb) => eb.fn.countAll<number | string>().as('n'))
    .where('seq', '<=', head)
    .executeTakeFirstOrThrow();
  return { rows: Number(n), missing: head - Number(n) };
}

/** Records once that sealing was switched off. */
async function stopSealing({ database, ledger }: Pick<Platform, 'database' | 'ledger'>): Promise<void> {
  if (!(await readLog(database.read)) || (await isStopped(database.read))) return;
  await ledger.change(SYSTEM, async ({ db, emit }) => {
    const log = await readLog(db);
    if (!log || (await isStopped(db))) return;
    await setPosition(db, STOPPED, 1);
    emit({ type: 'ledger.stopped', data: { sealed: log.size } });
  });
}

async function resumeSealing({ database, ledger }: Pick<Platform, 'database' | 'ledger'>): Promise<void> {
  if (!(await isStopped(database.read))) return;
  await ledger.change(SYSTEM, async ({ db, emit }) => {
    if (!(await isStopped(db))) return;
    await setPosition(db, STOPPED, 0);
    emit({ type: 'ledger.resumed', data: {} });
  });
}

const isStopped = async (db: Db): Promise<boolean> => (await readPosition(db, STOPPED)) === 1;
