import { statSync } from 'node:fs';
import { Refuted, Undecidable, utf8 } from './canonical.ts';
import {
  type Checkpoint,
  LOG_KEY,
  openCheckpoint,
  type Policy,
  parseKey,
  parsePolicy,
  policyOfKeys,
} from './checkpoint.ts';
import { addedKeys } from './entry.ts';
import { assertExplained, type ProvenExport, verifyExport } from './export.ts';
import { type ProvenEntry, verifyContinuation, verifyProof } from './proof.ts';
import { chunksOf, linesOf, MAX_BYTES, read, take, textOf } from './read-file.ts';
import { type SealedLater, type SealingChange, sealedLater, sealingChange } from './sealed-later.ts';

interface VerifyOptions {
  readonly files: readonly string[];
  /** Verifier keys of the log, and of witnesses, all of which must have cosigned. */
  readonly key?: readonly string[];
  /** Path of a policy file. */
  readonly policy?: string;
  /** Whether the two files are an older checkpoint and the proof that the log continues it. */
  readonly consistent?: boolean;
  /** Trusts the keys that proven entries of the files add. */
  readonly followKeys?: boolean;
  readonly json?: boolean;
}

/** The findings about one file. */
interface Finding {
  /** Absent if the command line itself is wrong. */
  readonly file?: string;
  readonly verdict: 'proven' | 'refuted' | 'undecidable';
  readonly reason?: string;
  readonly checkpoint?: Checkpoint;
  readonly proven?: ProvenEntry;
  readonly sealedExport?: ProvenExport;
  /** The newest checkpoint of the service, which continues that of the file. */
  readonly today?: Checkpoint;
  /**
   * Rows of the file that were recorded while the ledger was not sealed, according to proven entries of any of the
   * files.
   */
  readonly later?: readonly SealedLater[];
}

const EXIT_CODES = { proven: 0, undecidable: 2, refuted: 1 } as const;
const EXPORT = Buffer.from('{"format":"legate-export-v1"');

/** Checks the files. Prints the findings, and returns the exit code: 0 proven, 1 refuted, 2 neither. */
export function runVerify(options: VerifyOptions, print: (text: string) => void): number {
  const examined = examineAll(options);
  return typeof examined === 'string' ? undecidable(examined, options, print) : show(examined.findings, options, print);
}

/**
 * Like {@link runVerify}, and also requests the proof from the service at `url` that its current ledger continues the
 * one of each file.
 */
export async function runVerifyOnline(
  options: VerifyOptions & { readonly url: string },
  print: (text: string) => void,
): Promise<number> {
  const examined = examineAll(options);
  if (typeof examined === 'string') return undecidable(examined, options, print);
  const findings: Finding[] = [];
  for (const finding of examined.findings) {
    const { file, verdict, checkpoint } = finding;
    if (file === undefined || verdict !== 'proven' || !checkpoint) findings.push(finding);
    else {
      const asked = await askForToday(options.url, checkpoint);
      const checked = check(file, () => ({
        today: asked instanceof Error ? raise(asked) : verifyContinuation(checkpoint, asked, examined.policy),
      }));
      findings.push({ ...finding, ...checked });
    }
  }
  return show(findings, options, print);
}

/** The policy and the findings about each file, or why they are undecidable. */
function examineAll(options: VerifyOptions): { policy: Policy; findings: Finding[] } | string {
  try {
    let policy = policyOf(options);
    if (options.followKeys) assertReadableAgain(options.files);
    if (options.followKeys) policy = followKeys(options.files, policy);
    const findings = options.consistent
      ? [checkConsistency(options.files, policy)]
      : options.files.map((file) => check(file, () => examine(file, policy)));
    if (findings.length === 0) throw new Undecidable('Name at least one file.');
    return { policy, findings: withLater(findings) };
  } catch (error) {
    if (!(error instanceof Undecidable)) throw error;
    return error.message;
  }
}

function undecidable(reason: string, { json }: VerifyOptions, print: (text: string) => void): number {
  print(json ? `${JSON.stringify([{ verdict: 'undecidable', reason }], null, 2)}\n` : `${reason}\n`);
  return EXIT_CODES.undecidable;
}

function show(findings: readonly Finding[], { json }: VerifyOptions, print: (text: string) => void): number {
  if (json) print(`${JSON.stringify(findings.map(asJson), null, 2)}\n`);
  else for (const finding of findings) print(describe(finding));
  const verdicts = findings.map(({ verdict }) => verdict);
  return verdicts.includes('refuted') ? 1 : verdicts.includes('undecidable') ? 2 : 0;
}

const raise = (error: Error): never => {
  throw error;
};

const TIMEOUT_MS = 10_000;

/** The answer of GET /ledger/consistency, of the log of a checkpoint; an {@link Undecidable} if there is none. */
async function askForToday(url: string, { origin, size }: Checkpoint): Promise<string | Undecidable> {
  const base = url.replace(/\/$/, '');
  // The id of a log is at the end of its name, unless the operator has named it otherwise.
  const [, id] = /\/([0-9a-f]{8})$/.exec(origin) ?? [];
  const path = `${id === undefined ? '/ledger' : `/ledger/${id}`}/consistency?from=${size}`;
  try {
    const response = await fetch(base + path, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) {
      await response.body?.cancel();
      return new Undecidable(`${base}${path} answered ${response.status}, which proves nothing.`);
    }
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of response.body ?? []) {
      length += chunk.length;
      if (length > MAX_BYTES) return new Undecidable(`The answer of ${base} is larger than ${MAX_BYTES} bytes.`);
      chunks.push(chunk);
    }
    return utf8(Buffer.concat(chunks));
  } catch (error) {
    if (error instanceof Refuted) return new Undecidable(error.message);
    return new Undecidable(`${base} cannot be asked: ${(error as Error).message}.`);
  }
}

/** Adds to each finding which of its rows were sealed afterwards. */
function withLater(findings: readonly Finding[]): Finding[] {
  const sealingChanges = new Map<string, SealingChange[]>();
  for (const { checkpoint, proven, sealedExport } of findings) {
    const changed = proven && sealingChange(proven.entry);
    const found = sealedExport?.sealingChanges ?? (changed ? [changed] : []);
    if (checkpoint) sealingChanges.set(checkpoint.origin, [...(sealingChanges.get(checkpoint.origin) ?? []), ...found]);
  }
  return findings.map((finding) => {
    const { checkpoint, proven, sealedExport } = finding;
    const from = proven?.entry.seq ?? sealedExport?.from;
    const to = proven?.entry.seq ?? sealedExport?.to;
    if (!checkpoint || from === undefined || to === undefined) return finding;
    const rows = sealedLater(sealingChanges.get(checkpoint.origin) ?? []);
    const later = rows.flatMap((row) =>
      row.from <= to && row.to >= from ? [{ ...row, from: Math.max(row.from, from), to: Math.min(row.to, to) }] : [],
    );
    return later.length === 0 ? finding : { ...finding, later };
  });
}

function policyOf({ key = [], policy }: VerifyOptions): Policy {
  if (key.length > 0 === (policy !== undefined))
    throw new Undecidable(
      'Name the keys that you trust with --key <vkey>, or a policy file with --policy <file>. Get them from the ' +
        'owner of the ledger by another way than the files.',
    );
  const keys = key.map(parseKey);
  if (policy === undefined && !keys.some(({ type }) => type === LOG_KEY))
    throw new Undecidable('None of the keys is one of a ledger.');
  return policy === undefined ? policyOfKeys(keys) : parsePolicy(readPolicy(policy));
}

function readPolicy(path: string): string {
  try {
    return read(path);
  } catch (error) {
    throw error instanceof Refuted ? new Undecidable(`${path} is not a policy: ${error.message}`) : error;
  }
}

/** Keys are followed in several passes, and a pipe can be read only once. */
function assertReadableAgain(files: readonly string[]): void {
  for (const file of files)
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false)
      throw new Undecidable(`${file} is not a file that can be read twice, which --follow-keys needs. Save it first.`);
}

/**
 * Adds the keys to a policy that proven entries of the files add to the log: entries under a trusted key first, then
 * those under the keys that were found, until there is nothing new.
 */
function followKeys(files: readonly string[], policy: Policy): Policy {
  let followed = policy;
  for (let known = -1; known < followed.logs.length; ) {
    known = followed.logs.length;
    for (const file of files) {
      const { verdict, proven, sealedExport, checkpoint } = check(file, () => examine(file, followed));
      if (verdict !== 'proven' || !checkpoint) continue;
      const keys = [...(proven ? addedKeys(proven.entry) : []), ...(sealedExport?.addedKeys ?? [])].map(parseKey);
      const added = keys.filter(
        ({ name, id, type }) =>
          type === LOG_KEY &&
          name === checkpoint.origin &&
          !followed.logs.some((key) => key.name === name && key.id === id),
      );
      followed = { ...followed, logs: [...followed.logs, ...added] };
    }
  }
  return followed;
}

function check(file: string, work: () => Omit<Finding, 'file' | 'verdict'>): Finding {
  try {
    return { file, verdict: 'proven', ...work() };
  } catch (error) {
    if (error instanceof Refuted) return { file, verdict: 'refuted', reason: error.message };
    if (error instanceof Undecidable) return { file, verdict: 'undecidable', reason: error.message };
    throw error;
  }
}

/** Reads the file once, from its beginning, because it may be a pipe. */
function examine(path: string, policy: Policy): Omit<Finding, 'file' | 'verdict'> {
  const chunks = chunksOf(path);
  try {
    const start = take(chunks, EXPORT.length);
    if (start.subarray(0, EXPORT.length).equals(EXPORT)) {
      const sealedExport = verifyExport(linesOf(path, start, chunks), policy);
      assertExplained(sealedExport);
      return { sealedExport, checkpoint: sealedExport.checkpoint };
    }
    return examineText(textOf(path, Buffer.concat([start, take(chunks, MAX_BYTES)])), policy);
  } finally {
    chunks.return(undefined);
  }
}

const isProof = (text: string): boolean => text.startsWith('c2sp.org/tlog-proof@v1\n');

function examineText(text: string, policy: Policy): Omit<Finding, 'file' | 'verdict'> {
  if (!isProof(text)) {
    if (!text.includes('\n\n')) throw new Undecidable('The file is neither a proof nor a checkpoint nor an export.');
    return { checkpoint: openCheckpoint(text, policy) };
  }
  const proven = verifyProof(text, policy);
  return { proven, checkpoint: proven.checkpoint };
}

function checkConsistency(files: readonly string[], policy: Policy): Finding {
  const [old, recent] = files;
  if (old === undefined || recent === undefined || files.length > 2)
    throw new Undecidable('--consistent needs an older checkpoint and an answer of GET /ledger/consistency.');
  const opened = check(old, () => {
    const text = read(old);
    if (isProof(text) || !text.includes('\n\n'))
      throw new Undecidable('The first file is not a checkpoint. The older checkpoint comes first, then the answer.');
    return { checkpoint: openCheckpoint(text, policy) };
  });
  const { checkpoint } = opened;
  if (!checkpoint) return opened;
  return check(recent, () => ({ checkpoint: verifyContinuation(checkpoint, read(recent), policy) }));
}

/** Shows a text without characters that a terminal acts on. */
const shown = (text: string): string =>
  JSON.stringify(text).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const timeOf = (ms: number): string => (ms > 8.64e15 ? String(ms) : new Date(ms).toISOString());

function describe({ file, verdict, reason, checkpoint, proven, sealedExport, today, later = [] }: Finding): string {
  const lines = [`${file}: ${verdict}`];
  if (reason !== undefined) lines.push(`  ${reason}`);
  if (checkpoint && proven) lines.push(...describeEntry(proven));
  else if (sealedExport) lines.push(...describeExport(sealedExport));
  else if (checkpoint) lines.push(`  A tree of ${checkpoint.size} rows of ${checkpoint.origin} was signed.`);
  for (const { from, to, at } of later) {
    const unsealed = from === to ? `row ${from} until it was` : `rows ${from} to ${to} until they were`;
    lines.push(`  Not proven: what happened to ${unsealed} sealed, after ${timeOf(at)}.`);
  }
  if (today) lines.push(`  The ledger of today, of ${today.size} rows, continues it.`);
  if (proven?.before) lines.push(...describeBefore(proven.before));
  if (checkpoint) {
    lines.push(`  Signed by ${checkpoint.signedBy.join(', ')}.`);
    for (const { name, time } of checkpoint.cosigned)
      lines.push(`  Seen by the witness ${name} at ${timeOf(time * 1000)}.`);
    if (proven && checkpoint.cosigned.length === 0) lines.push('  Not proven: the time. It is the word of the ledger.');
    if (checkpoint.cosigned.length === 0)
      lines.push('  Not proven: that others were shown the same ledger. No witness has cosigned.');
  }
  return `${lines.join('\n')}\n`;
}

const rows = (count: number): string => (count === 1 ? '1 row is' : `${count} rows are`);

function describeExport({
  checkpoint,
  from,
  to,
  complete,
  entries,
  withheld,
  explained,
  unrecorded,
  times,
  clockResets,
}: ProvenExport): string[] {
  const { origin, size } = checkpoint;
  return [
    complete
      ? `  These are all rows from ${from} to ${to} of ${origin}, unchanged since a tree of ${size} rows was signed.`
      : `  Each of these ${entries} entries is in ${origin}, unchanged since a tree of ${size} rows was signed.`,
    ...(complete ? [] : ['  Not proven: that no entry is missing. The export was made with filters.']),
    ...(times ? [`  Recorded from ${times.map(timeOf).join(' to ')}.`] : []),
    ...clockResets.map(
      (r) => `  Row ${r.seq} set the time of the ledger back from ${timeOf(r.from)} to ${timeOf(r.to)}.`,
    ),
    ...(explained > 0 ? [`  ${rows(explained)} gone, and entries of the file say why.`] : []),
    ...(withheld > 0
      ? [`  The private fields of ${withheld === 1 ? '1 entry' : `${withheld} entries`} were erased or are gone.`]
      : []),
    ...(unrecorded.length > 0
      ? [
          `  Not proven: why the private fields of decisions ${unrecorded.join(', ')} are gone. ` +
            'No entry of the file says so.',
        ]
      : []),
  ];
}

/** When the entry was not there yet. */
function describeBefore({ size, cosigned }: Checkpoint): string[] {
  const tree = `  It was not yet in a tree of ${size} rows`;
  if (cosigned.length === 0) return [`${tree}, which was signed before.`];
  return cosigned.map(({ name, time }) => `${tree} that the witness ${name} saw at ${timeOf(time * 1000)}.`);
}

function describeEntry({ entry, checkpoint }: ProvenEntry): string[] {
  const { type, seq, timestamp, fields, private: hidden } = entry;
  const values = (all: Readonly<Record<string, string>>): string[] =>
    Object.entries(all).flatMap(([name, value]) => (value === '' ? [] : [`    ${name}: ${shown(value)}`]));
  return [
    `  This is row ${seq} of ${checkpoint.origin}, unchanged since a tree of ${checkpoint.size} rows was signed.`,
    `    type: ${type}`,
    ...(type === 'absent' ? ['    The row was gone before the ledger began to be sealed.'] : []),
    ...(type === 'absent' ? [] : [`    time: ${timeOf(timestamp)}, as the ledger recorded it`]),
    ...values(fields),
    ...(hidden ? values(hidden) : ['  Its private fields were withheld or erased.']),
  ];
}

function asJson({ file, verdict, reason, checkpoint, proven, sealedExport, today, later }: Finding): object {
  return {
    file,
    verdict,
    ...(reason === undefined ? {} : { reason }),
    ...(checkpoint ? { checkpoint: { ...checkpoint, root: checkpoint.root.toString('base64') } } : {}),
    ...(proven ? { entry: proven.entry } : {}),
    ...(proven?.before ? { before: { ...proven.before, root: proven.before.root.toString('base64') } } : {}),
    ...(later ? { sealedLater: later } : {}),
    ...(today ? { today: { ...today, root: today.root.toString('base64') } } : {}),
    ...(sealedExport ? { export: { ...sealedExport, checkpoint: undefined } } : {}),
  };
}
