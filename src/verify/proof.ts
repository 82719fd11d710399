import { base64, canonicalJson, decimal, hashList, hashOf, refuse, Undecidable, utf8 } from './canonical.ts';
import { type Checkpoint, openCheckpoint, type Policy } from './checkpoint.ts';
import { type Entry, entryOf, readEntry } from './entry.ts';
import { assertConsistent, leafHash, rootOfInclusion } from './tree.ts';

const OTHER_LOG = 'The checkpoints are of different logs.';

export interface ProvenEntry {
  readonly entry: Entry;
  readonly checkpoint: Checkpoint;
  /** A checkpoint of an earlier tree, without the entry. */
  readonly before?: Checkpoint;
}

/** Checks a proof file (C2SP tlog-proof). Throws {@link Refuted} or {@link Undecidable}. */
export function verifyProof(file: string, policy: Policy): ProvenEntry {
  const end = file.indexOf('\n\n');
  const [first, extra = '', index = '', ...hashes] = file.slice(0, Math.max(0, end)).split('\n');
  if (first !== 'c2sp.org/tlog-proof@v1') refuse('The file is not a proof.');
  if (!extra.startsWith('extra ')) throw new Undecidable('The proof does not contain the entry that it is about.');
  if (!index.startsWith('index ')) refuse('The proof has no index.');
  const checkpoint = openCheckpoint(file.slice(end + 2), policy);
  const texts = canonicalJson(utf8(base64(extra.slice(6), 'The extra line')), 'The extra line');
  const { leaf, private: hidden, before, ...others } = texts;
  if (typeof leaf !== 'string' || !['string', 'undefined'].includes(typeof hidden) || Object.keys(others).length > 0)
    return refuse('The extra line has other members than leaf, private and before.');
  const at = decimal(index.slice(6), 'The index');
  const proof = hashes.map((hash) => hashOf(hash, 'A hash of the proof'));
  const root = rootOfInclusion(leafHash(leaf), at, checkpoint.size, proof);
  if (!root.equals(checkpoint.root)) refuse('The entry is not in the tree that was signed.');
  const entry = entryOf(readEntry(leaf, hidden as string | undefined));
  if (entry.seq !== at + 1) refuse('The number of the entry is not its place in the tree.');
  const earlier = before === undefined ? undefined : treeBefore(before, at, checkpoint, policy);
  return earlier ? { entry, checkpoint, before: earlier } : { entry, checkpoint };
}

/**
 * Checks that the tree of the proof continues an earlier one that has no row at `index`. Returns undefined if the
 * policy does not accept the earlier checkpoint, which then proves nothing.
 */
function treeBefore(given: unknown, index: number, recent: Checkpoint, policy: Policy): Checkpoint | undefined {
  const { checkpoint, proof, ...others } = (given ?? {}) as Record<string, unknown>;
  if (typeof checkpoint !== 'string' || Object.keys(others).length > 0)
    return refuse('The member before has other members than checkpoint and proof.');
  const old = openedIfTrusted(checkpoint, policy);
  if (!old) return undefined;
  if (old.origin !== recent.origin) refuse(OTHER_LOG);
  if (old.size > index) refuse('The earlier tree has the entry already.');
  assertConsistent(old, recent, hashList(proof, 'A hash of the proof'));
  return old;
}

function openedIfTrusted(note: string, policy: Policy): Checkpoint | undefined {
  try {
    return openCheckpoint(note, policy);
  } catch (error) {
    if (error instanceof Undecidable) return undefined;
    throw error;
  }
}

/** Checks an answer of GET /ledger/consistency against an older checkpoint. */
export function verifyConsistency(oldNote: string, answer: string, policy: Policy): [Checkpoint, Checkpoint] {
  const old = openCheckpoint(oldNote, policy);
  return [old, verifyContinuation(old, answer, policy)];
}

/** Checks an answer of GET /ledger/consistency against an older checkpoint that is opened. Returns the newer one. */
export function verifyContinuation(old: Checkpoint, answer: string, policy: Policy): Checkpoint {
  if (!answer.startsWith('{')) {
    const recent = openCheckpoint(answer, policy);
    if (old.origin !== recent.origin) refuse(OTHER_LOG);
    if (old.size !== recent.size && old.size !== 0)
      throw new Undecidable('The newer file has to be the answer of GET /ledger/consistency, which has the proof.');
    assertConsistent(old, recent, []);
    return recent;
  }
  const { from, to, proof, checkpoint, ...others } = canonicalJson(answer, 'The answer');
  if (typeof checkpoint !== 'string') return refuse('The answer has no checkpoint.');
  if (Object.keys(others).length > 0) refuse('The answer has other members than from, to, proof and checkpoint.');
  const recent = openCheckpoint(checkpoint, policy);
  if (old.origin !== recent.origin) refuse(OTHER_LOG);
  if (from !== old.size || to !== recent.size)
    throw new Undecidable(`The answer is not the proof from ${old.size} to ${recent.size} rows.`);
  assertConsistent(old, recent, hashList(proof, 'A hash of the proof'));
  return recent;
}
