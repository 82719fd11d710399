import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  assertConsistent,
  type Checkpoint,
  LOG_KEY,
  openCheckpoint,
  parseKey,
  policyOfKeys,
  Refuted,
  type TrustedKey,
  Undecidable,
} from '../verify/index.ts';
import { cosigner, readSeed } from './key.ts';
import { openStore, type Seen } from './store.ts';

export interface WitnessOptions {
  /** Name of the witness's key, by convention its address without the scheme. */
  readonly name: string;
  /** Verifier keys of the logs. */
  readonly logs: readonly string[];
  /** Holds the key and the newest checkpoints. Created if it is missing. */
  readonly folder: string;
  /** Milliseconds. */
  readonly now?: () => number;
}

export interface Answer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422;
  readonly type: string;
  readonly body: string;
}

export interface Witness {
  readonly vkey: string;
  /** Answers a request (C2SP tlog-witness). */
  addCheckpoint(request: string): Answer;
  /** The newest cosigned note of the log whose origin has this SHA-256 in hex. */
  latest(originHash: string): string | undefined;
  /** The notes of logs that have signed contradicting trees. */
  forks(): { readonly origin: string; readonly known: string; readonly other: string }[];
  close(): void;
}

/** More lines cannot prove any tree (C2SP tlog-witness). */
const MAX_PROOF = 63;
const REQUEST = /^old (0|[1-9]\d{0,15})\n((?:[A-Za-z0-9+/]{43}=\n)*)\n/;

const refusal = (status: 400 | 403 | 404 | 409 | 422, reason: string): Answer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: `${reason}\n`,
});
const isAt = (size: number): Answer => ({ status: 409, type: 'text/x.tlog.size', body: `${size}\n` });

/** Opens a witness. Throws {@link Undecidable} if the name or a key of a log is malformed. */
export function openWitness({ name, logs, folder, now = Date.now }: WitnessOptions): Witness {
  if (!/^[!-*,-~]{1,200}$/.test(name))
    throw new Undecidable('The name of a witness is printable ASCII without spaces and plus signs.');
  const keys = new Map<string, TrustedKey[]>();
  for (const key of logs.map(parseKey)) {
    if (key.type !== LOG_KEY) throw new Undecidable(`${key.name}+${key.id} is not the key of a log.`);
    keys.set(key.name, [...(keys.get(key.name) ?? []), key]);
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n', { mode: 0o600 });
  const store = openStore(join(folder, 'witness.db'));
  const { vkey, cosign } = cosigner(name, readSeed(folder));

  function addCheckpoint(request: string): Answer {
    const [head, sizeText = '', proofText = ''] = REQUEST.exec(request) ?? [];
    if (head === undefined) return refusal(400, 'The request does not begin with an old size and a proof.');
    const proof = proofText.split('\n').slice(0, -1);
    if (proof.length > MAX_PROOF) return refusal(400, `The proof has more than ${MAX_PROOF} hashes.`);
    const note = request.slice(head.length);
    const trusted = keys.get(note.slice(0, note.indexOf('\n')));
    let checkpoint: Checkpoint;
    try {
      assertWellFormed(note);
      if (!trusted) return refusal(404, 'This witness does not know the log.');
      checkpoint = openCheckpoint(note, policyOfKeys(trusted));
    } catch (error) {
      if (error instanceof Malformed) return refusal(400, error.message);
      if (error instanceof Refuted || error instanceof Undecidable) return refusal(403, error.message);
      throw error;
    }
    const oldSize = Number(sizeText);
    if (oldSize > checkpoint.size) return refusal(400, 'The old size is greater than that of the checkpoint.');
    return compare(checkpoint, oldSize, proof, note);
  }

  /** From the read to the write nothing else runs, and `replace` compares again. */
  function compare(checkpoint: Checkpoint, oldSize: number, proof: readonly string[], note: string): Answer {
    const { origin, size, root } = checkpoint;
    const known = store.find(origin);
    const isFork = known?.size === size && known.root !== root.toString('base64');
    // The old size makes no difference, because the log has signed both.
    if (isFork) store.keepFork(origin, known.note, note, now());
    if (oldSize !== (known?.size ?? 0)) return isAt(known?.size ?? 0);
    if (isFork) return refusal(409, 'Another tree of this size was cosigned: the log was forked.');
    const old = known ? { size: known.size, root: Buffer.from(known.root, 'base64') } : EMPTY;
    if (size === 0 && !root.equals(EMPTY.root)) return refusal(422, 'The root is not that of a tree without rows.');
    try {
      assertConsistent(
        old,
        checkpoint,
        proof.map((hash) => Buffer.from(hash, 'base64')),
      );
    } catch (error) {
      if (error instanceof Refuted) return refusal(422, error.message);
      throw error;
    }
    const text = note.slice(0, note.lastIndexOf('\n\n') + 1);
    const line = cosign(text, Math.floor(now() / 1000));
    const seen: Seen = { size, root: root.toString('base64'), note: `${signedBy(note, trusted(origin))}${line}` };
    if (!store.replace(origin, known, seen)) return isAt(store.find(origin)?.size ?? 0);
    return { status: 200, type: 'text/plain; charset=utf-8', body: line };
  }

  const trusted = (origin: string): TrustedKey[] => keys.get(origin) ?? [];
  const origins = new Map([...keys.keys()].map((origin) => [sha256Hex(origin), origin]));
  return {
    vkey,
    addCheckpoint,
    latest: (hash) => {
      const origin = origins.get(hash);
      return origin === undefined ? undefined : store.find(origin)?.note;
    },
    forks: () => store.forks(),
    close: () => store.close(),
  };
}

const EMPTY = { size: 0, root: createHash('sha256').digest() };
const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

class Malformed extends Error {}

/** Throws {@link Malformed} if the note is not a checkpoint, no matter who signed it. */
function assertWellFormed(note: string): void {
  try {
    openCheckpoint(note, policyOfKeys([]));
  } catch (error) {
    if (error instanceof Refuted) throw new Malformed(error.message);
    if (!(error instanceof Undecidable)) throw error;
  }
}

/** The note with the signatures of these keys only, which were checked. */
function signedBy(note: string, keys: readonly TrustedKey[]): string {
  const end = note.lastIndexOf('\n\n') + 2;
  const lines = note.slice(end).split('\n').slice(0, -1);
  const kept = lines.filter((line) => {
    const [, signer, encoded = ''] = line.split(' ');
    const signedId = Buffer.from(encoded, 'base64').toString('hex', 0, 4);
    return keys.some(({ name, id }) => name === signer && id === signedId);
  });
  return note.slice(0, end) + kept.map((line) => `${line}\n`).join('');
}
