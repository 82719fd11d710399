import { HOUR_MS, isoTime } from '../../../kernel/clock.ts';
import { createGuardedFetch } from '../../../operations/outbound/index.ts';
import { defineState, type Platform } from '../../../platform.ts';
import { openCheckpoint, type Policy, parseKey, Refuted, Undecidable } from '../../../verify/index.ts';
import { keepCosigned } from '../kept-checkpoints.ts';
import { sealer } from '../sealer.ts';
import { readLog, readRangeHashes } from '../store.ts';
import { consistencyRanges } from '../tree.ts';
import { type Asked, askWitness, type Cosigned } from './ask-witness.ts';
import { readWitnesses, takeTurn, writeCosigned, writeWitness } from './store.ts';

/** One cosigned checkpoint is kept for each interval of this length. */
const KEEP_MS = 60_000;
/** The maximum time between two checks of whether the witnesses must be asked. */
const LOOK_MS = 5000;

/** State of a witness, as GET /ledger/status shows it. */
export interface WitnessStatus {
  readonly name: string;
  readonly key: string;
  readonly size: number;
  readonly cosignedAt: string | null;
  readonly failure: string | null;
  readonly failedAt: string | null;
}

/**
 * Has checkpoints cosigned by the witnesses of `ledger.policy`. A checkpoint is sent only after it is durable, and a
 * cosigned one is stored only if its cosignatures are valid and meet the quorum. If a witness has cosigned more rows
 * than this database has signed, the database was rolled back, and sealing stops.
 */
export class Cosigner {
  readonly #platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'stateOf'>;
  // The operator configured the addresses in the policy, so they may be private.
  readonly #fetch = createGuardedFetch({ allowPrivateNetworks: true });
  #policy: Policy | undefined;
  #asking: Promise<void> | undefined;
  #looking: NodeJS.Timeout | undefined;
  #keptAt = Number.NEGATIVE_INFINITY;

  constructor(platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'stateOf'>) {
    this.#platform = platform;
  }

  /** Called once, at the start. `look` runs {@link askIfDue} in the background. */
  open(policy: Policy, look: () => void): void {
    this.#policy = policy;
    this.#looking = setInterval(look, Math.min(LOOK_MS, this.#platform.config.ledger.witnessIntervalMs / 4)).unref();
  }

  stop(): void {
    clearInterval(this.#looking);
  }

  /** undefined if no cosignatures are needed. */
  get policy(): Policy | undefined {
    return this.#policy;
  }

  /** Asks the witnesses if that is due and no other instance has done it. */
  async askIfDue(): Promise<void> {
    const { database, ledger, clock, config } = this.#platform;
    if (!this.#policy || this.#asking) return;
    const log = await readLog(database.read);
    if (!log || log.signed_size === 0) return;
    const now = clock.now();
    const interval = log.signed_size > log.cosigned_size ? config.ledger.witnessIntervalMs : HOUR_MS;
    if (now - log.asked_at < interval) return;
    if (await ledger.maintain((db) => takeTurn(db, log.log_id, now - interval, now))) await this.ask();
  }

  /** Has the newest checkpoint cosigned. Concurrent calls share one round. */
  ask(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const { database, ledger, clock } = this.#platform;
    const policy = this.#policy;
    const state = this.#platform.stateOf(sealer);
    const log = await state.newest();
    if (!policy || !log || state.halted !== undefined) return;
    const keys = state.signers.map(({ vkey }) => parseKey(vkey));
    const known = await readWitnesses(database.read, log.log_id);
    const signed = {
      size: log.signed_size,
      note: log.checkpoint,
      keys,
      proveFrom: async (from: number) =>
        (await readRangeHashes(database.read, consistencyRanges(from, log.signed_size))).map((hash) =>
          hash.toString('base64'),
        ),
    };
    const answers = await Promise.all(
      witnessesOf(policy).map(async (witness) => ({
        witness,
        answer: await askWitness(this.#fetch, witness, signed, known.get(vkeyOf(witness))?.size ?? 0),
      })),
    );
    const note = log.checkpoint + answers.map(({ answer }) => ('lines' in answer ? answer.lines : '')).join('');
    const isEnough = meets(note, { ...policy, logs: keys });
    const now = clock.now();
    const isKept = isEnough && Math.abs(now - this.#keptAt) >= KEEP_MS;
    await ledger.maintain(async (db) => {
      for (const { witness, answer } of answers) await writeWitness(db, rowOf(log, witness, answer, now));
      if (!isEnough) return;
      await writeCosigned(db, log.log_id, log.signed_size, note);
      if (isKept) await keepCosigned(db, { log_id: log.log_id, size: log.signed_size, note, signed_at: now });
    });
    if (isKept) this.#keptAt = now;
    for (const { witness, answer } of answers) if ('knows' in answer) await this.#assertNotAhead(witness, answer.knows);
  }

  /** Stops the sealing if a witness has cosigned a tree of more rows than were ever signed in this database. */
  async #assertNotAhead({ name }: Asked, size: number): Promise<void> {
    // Another instance may have signed a larger tree during the request.
    const log = await readLog(this.#platform.database.read);
    if (!log || log.signed_size >= size) return;
    await this.#platform
      .stateOf(sealer)
      .haltForGood(
        `The witness ${name} has cosigned a tree of ${size} rows, but the database has a record of only ` +
          `${log.signed_size}. Stop the service and run npx legate ledger recover.`,
      );
  }

  async status(logId: string): Promise<WitnessStatus[]> {
    if (!this.#policy) return [];
    const known = await readWitnesses(this.#platform.database.read, logId);
    return witnessesOf(this.#policy).map((witness) => {
      const row = known.get(vkeyOf(witness));
      const time = (at: number | null | undefined) => (at === null || at === undefined ? null : isoTime(at));
      return {
        name: witness.name,
        key: vkeyOf(witness),
        size: row?.size ?? 0,
        cosignedAt: time(row?.cosigned_at),
        failure: row?.failure ?? null,
        failedAt: time(row?.failed_at),
      };
    });
  }
}

export const cosigner = defineState((platform) => new Cosigner(platform));

/** Returns whether a note has the cosignatures that a policy requires. */
export function meets(note: string, policy: Policy): boolean {
  try {
    openCheckpoint(note, policy);
    return true;
  } catch (error) {
    if (error instanceof Refuted || error instanceof Undecidable) return false;
    throw error;
  }
}

const witnessesOf = ({ witnesses, addresses }: Policy): Asked[] =>
  [...witnesses].flatMap(([name, key]) => {
    const address = addresses.get(name);
    return address === undefined ? [] : [{ name, key, address }];
  });

const vkeyOf = ({ key }: Asked): string => `${key.name}+${key.id}+${key.encoded}`;

function rowOf(log: { log_id: string; signed_size: number }, witness: Asked, answer: Cosigned, now: number) {
  const isCosigned = 'lines' in answer;
  const failure = 'failure' in answer ? answer.failure : null;
  return {
    log_id: log.log_id,
    vkey: vkeyOf(witness),
    size: isCosigned ? log.signed_size : 'knows' in answer ? answer.knows : 0,
    cosigned_at: isCosigned ? now : null,
    failure,
    failed_at: failure === null ? null : now,
  };
}
