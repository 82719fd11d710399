import { canonicalJson, hashList, hashOf, refuse, Undecidable } from './canonical.ts';
import { type Checkpoint, openCheckpoint, type Policy } from './checkpoint.ts';
import { addedKeys, type Entry, entryOf, readEntry } from './entry.ts';
import { type SealingChange, sealedLater, sealingChange } from './sealed-later.ts';
import { leafHash, rootOfInclusion, TreeFolder } from './tree.ts';

/** A `ledger.clock_reset` entry. */
export interface ClockReset {
  readonly seq: number;
  /** Times of the entry before it and of the entry itself, in ms. */
  readonly from: number;
  readonly to: number;
}

/** The facts that a sealed export proves. */
export interface ProvenExport {
  readonly checkpoint: Checkpoint;
  /** Numbers of the first and the last row. */
  readonly from: number;
  readonly to: number;
  /** Whether it contains every row from `from` to `to`. */
  readonly complete: boolean;
  readonly entries: number;
  /** Number of entries whose private fields are not in the file. */
  readonly withheld: number;
  /** Number of missing rows that entries of the file explain. */
  readonly explained: number;
  /** Ranges of missing rows that no entry of the file explains. */
  readonly unexplained: readonly string[];
  /** Ranges of decisions whose private fields are missing without an explanation in a complete file. */
  readonly unrecorded: readonly string[];
  /** Entries of the file about the begin, stop or resumption of sealing. */
  readonly sealingChanges: readonly SealingChange[];
  /** Verifier keys that `ledger.key-added` entries of the file add. */
  readonly addedKeys: readonly string[];
  /** Times of the first and the last entry, in ms. */
  readonly times: readonly [number, number] | undefined;
  /** Entries of the file that record that the time of the ledger was set back. */
  readonly clockResets: readonly ClockReset[];
  /** Entries of a file with filters whose time is before that of an entry before them, for no reason in the file. */
  readonly backwards: readonly number[];
}

type Span = [from: number, to: number];

/** Rows that are named in runs. */
class Spans {
  readonly all: Span[] = [];

  add(from: number, to: number): void {
    const last = this.all.at(-1);
    if (last && last[1] === from - 1) last[1] = to;
    else this.all.push([from, to]);
  }

  /** Returns the parts that the other runs do not cover. */
  without(others: readonly Span[]): Span[] {
    const covered = merged(others);
    const rest: Span[] = [];
    let i = 0;
    for (const [from, to] of this.all) {
      while ((covered[i]?.[1] ?? to) < from) i++;
      let next = from;
      for (let j = i; next <= to; j++) {
        const [a, b] = covered[j] ?? [to + 1, to];
        if (a > next) rest.push([next, Math.min(a - 1, to)]);
        if (a > to) break;
        next = Math.max(next, b + 1);
      }
    }
    return rest;
  }
}

/** Returns runs of the same rows in order, without overlaps. */
function merged(spans: readonly Span[]): Span[] {
  const all: Span[] = [];
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    const last = all.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else if (from <= to) all.push([from, to]);
  }
  return all;
}

const isHead = (line: string): boolean => line.startsWith('{"format":"legate-export-v1"');

/** Reads the rows that an entry records as erased, completely or in part. */
function erasedRows({ type, seq, fields }: Entry): Span[] {
  if (type !== 'audit.erased') return [];
  const spans = (fields['seqs'] ?? '').split(',').map((part): Span => {
    const [, from = '', to = from] =
      /^([1-9]\d{0,15})(?:-([1-9]\d{0,15}))?$/.exec(part) ?? refuse('seqs is malformed.');
    return [Number(from), Number(to)];
  });
  return spans.flatMap((span) => earlier(span, seq));
}

/** The rows of a range before an entry. An entry cannot explain missing rows after it. */
const earlier = ([from, to]: Span, seq: number): Span[] => (from < seq ? [[from, Math.min(to, seq - 1)]] : []);

/** Reads the rows that an entry records as deleted completely. */
function deletedRows(entry: Entry): Span[] {
  const { type, seq, fields } = entry;
  if (type === 'audit.erased') return fields['what'] === 'entry' ? erasedRows(entry) : [];
  if (type !== 'ledger.pruned') return [];
  const { below } = canonicalJson(fields['data'] ?? '', 'The data of ledger.pruned');
  return typeof below === 'number' ? earlier([1, below - 1], seq) : [];
}

const shownSpans = (spans: readonly Span[]): string[] =>
  spans.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));

interface Head {
  readonly origin: string;
  readonly from: number;
  readonly to: number;
  readonly complete: boolean;
}

function parseHead(text: string): Head {
  const { format, origin, from, to, complete, note, ...others } = canonicalJson(text, 'The first line');
  const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1;
  if (format !== 'legate-export-v1' || typeof origin !== 'string' || typeof complete !== 'boolean')
    return refuse('The first line is not that of a sealed export.');
  if (Object.keys(others).length > 0 || (complete ? note !== undefined : typeof note !== 'string'))
    refuse('The first line has other members.');
  if (!isNumber(from) || !isNumber(to) || from > to) return refuse('The first line names no range of rows.');
  return { origin, from, to, complete };
}

const text = (value: unknown, what: string): string =>
  typeof value === 'string' ? value : refuse(`${what} is not a text.`);

/** Checks a sealed export, line by line and in constant memory. Throws {@link Refuted} or {@link Undecidable}. */
export function verifyExport(lines: Iterable<string>, policy: Policy): ProvenExport {
  const all = lines[Symbol.iterator]();
  const first = all.next();
  if (first.done || !isHead(first.value)) return refuse('The file is not a sealed export.');
  const head = parseHead(first.value);
  const check = head.complete ? new SpanCheck(head) : new EntriesCheck(head);
  let pending = all.next();
  for (let next = all.next(); !next.done; next = all.next()) {
    check.add(pending.value as string);
    pending = next;
  }
  if (pending.done) return refuse('The export has been cut: its last line is missing.');
  const { left, right, checkpoint: note, ...others } = canonicalJson(pending.value, 'The last line');
  if (note === undefined || Object.keys(others).length > 0)
    refuse('The export has been cut: its last line is missing.');
  const checkpoint = openCheckpoint(text(note, 'The checkpoint'), policy);
  if (checkpoint.origin !== head.origin) refuse('The checkpoint is one of another log.');
  check.finish(hashList(left, 'A hash on the left'), hashList(right, 'A hash on the right'), checkpoint);
  return check.result(checkpoint);
}

abstract class Check {
  readonly head: Head;
  readonly #gone = new Spans();
  /** Rows that had been deleted before they were sealed. */
  readonly #absent = new Spans();
  readonly #withoutPrivate = new Spans();
  readonly #deleted: Span[] = [];
  readonly #erased: Span[] = [];
  readonly #addedKeys: string[] = [];
  readonly #sealingChanges: SealingChange[] = [];
  #entries = 0;
  #withheld = 0;
  #goneRows = 0;
  readonly #clockResets: ClockReset[] = [];
  readonly #backwards: number[] = [];
  #firstTime: number | undefined;
  #lastTime = 0;

  constructor(head: Head) {
    this.head = head;
  }

  abstract add(line: string): void;
  abstract finish(left: readonly Buffer[], right: readonly Buffer[], checkpoint: Checkpoint): void;

  /** Processes one entry, and returns the hash of its leaf. */
  protected entry({ leaf, private: hidden, hash, ...others }: Record<string, unknown>, seq: number): Buffer {
    if (Object.keys(others).length > 0) refuse(`The line of row ${seq} has other members.`);
    if (leaf === undefined) {
      if (hidden !== undefined) refuse(`The line of row ${seq} has a private text without a leaf.`);
      this.#gone.add(seq, seq);
      this.#goneRows++;
      return hashOf(text(hash, 'A hash'), 'A hash');
    }
    if (hash !== undefined) refuse(`The line of row ${seq} has a hash next to its leaf.`);
    const parts = readEntry(text(leaf, 'A leaf'), hidden === undefined ? undefined : text(hidden, 'A private text'));
    const { type, timestamp } = parts;
    if (parts.seq !== seq) refuse(`Row ${parts.seq} stands in the place of row ${seq}.`);
    this.#entries++;
    if (hidden === undefined) this.#withheld++;
    if (hidden === undefined && type === 'audit') this.#withoutPrivate.add(seq, seq);
    if (type !== 'audit') this.#note(entryOf(parts));
    if (type === 'absent') this.#absent.add(seq, seq);
    else {
      if (timestamp < this.#lastTime) this.#goesBack(type, seq, timestamp);
      this.#firstTime ??= timestamp;
      this.#lastTime = timestamp;
    }
    return leafHash(leaf as string);
  }

  /** Only `legate clock reset` sets the time back, with an entry that filters may leave out. */
  #goesBack(type: string, seq: number, to: number): void {
    if (type === 'ledger.clock_reset') this.#clockResets.push({ seq, from: this.#lastTime, to });
    else if (this.head.complete) refuse(`The time of row ${seq} is before that of a row before it.`);
    else this.#backwards.push(seq);
  }

  /** Records the statements of an entry about other rows and keys. */
  #note(entry: Entry): void {
    for (const span of deletedRows(entry)) this.#deleted.push(span);
    for (const span of erasedRows(entry)) this.#erased.push(span);
    this.#addedKeys.push(...addedKeys(entry));
    const changed = sealingChange(entry);
    if (changed) this.#sealingChanges.push(changed);
  }

  result(checkpoint: Checkpoint): ProvenExport {
    const unexplained = this.#gone.without(this.#deleted);
    const missing = unexplained.reduce((sum, [from, to]) => sum + to - from + 1, 0);
    const notYetSealed = sealedLater(this.#sealingChanges).map(({ from, to }): Span => [from, to]);
    const absent = this.#absent.without([...notYetSealed, ...this.#deleted]);
    return {
      checkpoint,
      ...this.head,
      entries: this.#entries,
      withheld: this.#withheld,
      explained: this.#goneRows - missing,
      unexplained: shownSpans([...unexplained, ...absent].sort(([a], [b]) => a - b)),
      unrecorded: this.head.complete ? shownSpans(this.#withoutPrivate.without(this.#erased)) : [],
      sealingChanges: this.#sealingChanges,
      addedKeys: this.#addedKeys,
      times: this.#firstTime === undefined ? undefined : [this.#firstTime, this.#lastTime],
      clockResets: this.#clockResets,
      backwards: this.#backwards,
    };
  }
}

/** Checks all rows of a range: together with the included hashes they yield the signed root. */
class SpanCheck extends Check {
  readonly #tree: TreeFolder;
  #next: number;

  constructor(head: Head) {
    super(head);
    this.#next = head.from;
    this.#tree = new TreeFolder(head.from - 1);
  }

  add(line: string): void {
    if (this.#next > this.head.to) refuse('The export has more rows than its first line says.');
    this.#tree.add(this.entry(canonicalJson(line, `The line of row ${this.#next}`), this.#next));
    this.#next++;
  }

  finish(left: readonly Buffer[], right: readonly Buffer[], { size, root }: Checkpoint): void {
    if (this.#next !== this.head.to + 1) refuse('The export has fewer rows than its first line says.');
    if (size < this.head.to) refuse('The checkpoint does not cover the last rows.');
    if (!this.#tree.root(left, right, size).equals(root))
      refuse('The rows are not those of the tree that was signed: some were changed, removed or inserted.');
  }
}

/** Checks some rows, each with its own proof. */
class EntriesCheck extends Check {
  #last = -1;
  #root: Buffer | undefined;

  add(line: string): void {
    const { index, proof, ...rest } = canonicalJson(line, 'A line');
    if (!Number.isSafeInteger(index) || (index as number) <= this.#last) refuse('The rows are not in order.');
    this.#last = index as number;
    const leaf = this.entry(rest, this.#last + 1);
    const root = rootOfInclusion(leaf, this.#last, this.head.to, hashList(proof, 'A hash of a proof'));
    this.#root ??= root;
    if (!this.#root.equals(root)) refuse(`Row ${this.#last + 1} is not in the same tree as the others.`);
  }

  finish(left: readonly Buffer[], right: readonly Buffer[], { size, root }: Checkpoint): void {
    if (left.length > 0 || right.length > 0) refuse('The last line has hashes that nothing needs.');
    if (size !== this.head.to || this.head.from !== 1) refuse('The first line names other rows than the checkpoint.');
    if (this.#root && !this.#root.equals(root)) refuse('The entries are not in the tree that was signed.');
  }
}

/** Throws {@link Undecidable} for an export that does not explain missing rows or times. */
export function assertExplained({ unexplained, backwards }: ProvenExport): void {
  if (unexplained.length > 0)
    throw new Undecidable(
      `Rows ${unexplained.join(', ')} are gone or differ from what was sealed, and no entry of the file says why.`,
    );
  if (backwards.length > 0)
    throw new Undecidable(
      `The times of rows ${backwards.join(', ')} are before that of a row before them, and no entry of the file says ` +
        'why. An export of all rows shows whether the time of the ledger was set back.',
    );
}
