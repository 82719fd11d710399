import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { HOUR_MS, isoTime, SECOND_MS } from '../../../kernel/clock.ts';
import { signWebhook } from '../../../kernel/webhook-signature.ts';
import { createGuardedFetch, GuardedFetchError } from '../../../operations/outbound/index.ts';
import { defineState, type Platform } from '../../../platform.ts';
import type { Db } from '../../../storage/index.ts';
import { removeUnfinished, replaceFile } from '../anchor.ts';
import { keepStamped } from '../kept-checkpoints.ts';
import { sealer } from '../sealer.ts';
import { currentLog, type ServedLog } from '../served-log.ts';
import { readLog } from '../store.ts';
import { stampRequest } from './time-stamp.ts';

const TIMEOUT_MS = 10_000;
const MAX_STAMP_BYTES = 65_536;
/** Published files are readable for other users. */
const READABLE = 0o644;
const HOUR_FILE = /^\d{4}-\d\d-\d\dT\d\dZ\.txt$/;

/**
 * Publishes checkpoints, as GET /ledger/checkpoint shows them, at a place outside this service, and has them stamped.
 * One instance at a time does this. After a failure it is tried again after the interval, with the newest checkpoint.
 */
export class Publisher {
  readonly #platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'stateOf'>;
  // The operator configured the addresses, so they may be private.
  readonly #fetch = createGuardedFetch({ allowPrivateNetworks: true });

  #last: Promise<void> = Promise.resolve();

  constructor(platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'stateOf'>) {
    this.#platform = platform;
  }

  /** Publishes and stamps if that is due, after earlier calls. Throws the first failure after trying both. */
  run(): Promise<void> {
    const run = (): Promise<void> => this.#run();
    this.#last = this.#last.then(run, run);
    return this.#last;
  }

  async #run(): Promise<void> {
    const { publish, tsaUrl } = this.#platform.config.ledger;
    if (!this.#platform.stateOf(sealer).isOpen) return;
    const done = await Promise.allSettled([
      publish === undefined ? undefined : this.#publishIfDue(publish),
      tsaUrl === undefined ? undefined : this.#stampIfDue(tsaUrl),
    ]);
    for (const each of done) if (each.status === 'rejected') throw each.reason;
  }

  async #publishIfDue(target: string): Promise<void> {
    const { database, clock, config } = this.#platform;
    const log = await readLog(database.read);
    const now = clock.now();
    if (!log || log.signed_size <= log.published_size) return;
    if (!(await this.#takeTurn('published_at', now - config.ledger.publishIntervalMs, now))) return;
    const served = await currentLog(this.#platform);
    if (served.size <= log.published_size) return;
    if (target.startsWith('dir:')) await writeInto(target.slice('dir:'.length), served, now);
    else await this.#send(target, served, now);
    await this.#platform.ledger.maintain((db) =>
      db.updateTable('seal').set({ published_size: served.size }).where('log_id', '=', served.id).execute(),
    );
  }

  async #send(url: string, { origin, size, checkpoint }: ServedLog, now: number): Promise<void> {
    const { publishSecret } = this.#platform.config.ledger;
    const id = `ledger.checkpoint:${origin}:${size}`;
    const timestamp = Math.floor(now / SECOND_MS);
    const data = { origin, size, checkpoint };
    const body = JSON.stringify({ type: 'ledger.checkpoint', timestamp: isoTime(now), data });
    const { status } = await this.#fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Legate-Ledger/1',
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        ...(publishSecret === undefined
          ? {}
          : { 'webhook-signature': signWebhook([publishSecret], id, timestamp, body) }),
      },
      body,
      timeoutMs: TIMEOUT_MS,
      overflow: 'cut',
    });
    if (status < 200 || status > 299) throw new Error(`The address of ledger.publish answered ${status}.`);
  }

  async #stampIfDue(url: string): Promise<void> {
    const { ledger, clock } = this.#platform;
    const now = clock.now();
    if (!(await this.#takeTurn('stamped_at', now - HOUR_MS, now))) return;
    const { id, size, checkpoint } = await currentLog(this.#platform);
    const request = stampRequest(checkpoint);
    const stamp = await this.#ask(url, request.query);
    if (!request.isAnsweredBy(stamp))
      throw new Error('The answer of ledger.tsaUrl is not a time stamp of the checkpoint.');
    const row = { log_id: id, size, note: checkpoint, signed_at: now, stamp: Buffer.from(stamp).toString('base64') };
    await ledger.maintain((db) => keepStamped(db, row));
  }

  async #ask(url: string, query: Buffer): Promise<Uint8Array> {
    const { status, body } = await this.#fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/timestamp-query', accept: 'application/timestamp-reply' },
      body: query,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_STAMP_BYTES,
    }).catch((error: unknown) => {
      throw error instanceof GuardedFetchError ? new Error(`ledger.tsaUrl: ${error.problem}`) : error;
    });
    if (status !== 200) throw new Error(`ledger.tsaUrl answered ${status}.`);
    return body;
  }

  /** Returns false if an instance has published or stamped since `before`. One atomic statement. */
  async #takeTurn(column: 'published_at' | 'stamped_at', before: number, now: number): Promise<boolean> {
    const { numUpdatedRows } = await this.#platform.ledger.maintain((db: Db) =>
      db
        .updateTable('seal')
        .set({ [column]: now })
        .where(column, '<=', before)
        .executeTakeFirst(),
    );
    return numUpdatedRows > 0n;
  }
}

export const publisher = defineState((platform) => new Publisher(platform));

/** Writes the newest checkpoint, and the first one of each hour under its hour. */
async function writeInto(folder: string, { id, checkpoint }: ServedLog, now: number): Promise<void> {
  const dir = join(folder, id);
  mkdirSync(dir, { recursive: true });
  const hour = `${isoTime(now).slice(0, 13)}Z.txt`;
  if (!existsSync(join(dir, hour))) {
    removeUnfinished(dir, (name) => name === 'checkpoint' || HOUR_FILE.test(name));
    await replaceFile(dir, hour, checkpoint, READABLE);
  }
  await replaceFile(dir, 'checkpoint', checkpoint, READABLE);
}
