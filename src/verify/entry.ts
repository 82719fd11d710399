import { canonicalJson, decimal, hashOf, refuse, sha256 } from './canonical.ts';

interface Names {
  readonly open: readonly string[];
  readonly hidden: readonly string[];
}

const EVENT_FIELDS = ['id', 'agentId', 'userId', 'data'];
const OF_LEDGER: Names = { open: ['data'], hidden: EVENT_FIELDS.slice(0, 3) };
const OTHERS: Names = { open: [], hidden: EVENT_FIELDS };
const NAMES: ReadonlyMap<string, Names> = new Map([
  [
    'audit',
    {
      open: 'id agentId userId action resource result reason durationMs tokensCost delegationIds'.split(' '),
      hidden: ['parameters', 'ip', 'userAgent'],
    },
  ],
  ['audit.erased', { open: ['what', 'seqs'], hidden: EVENT_FIELDS }],
]);
const namesOf = (type: string): Names => NAMES.get(type) ?? (type.startsWith('ledger.') ? OF_LEDGER : OTHERS);

/** An entry as its leaf states it. `private` is absent if it was withheld or erased. */
export interface Entry {
  readonly type: string;
  readonly seq: number;
  readonly timestamp: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly private?: Readonly<Record<string, string>>;
}

/** Fields of a text before those that have names: of a leaf, and of a private text. */
const LEAF_HEAD = 5;
const PRIVATE_HEAD = 2;

/** The checked parts of an entry. An export has millions of them, of which few need names. */
interface Parts {
  readonly type: string;
  readonly seq: number;
  readonly timestamp: number;
  readonly values: readonly string[];
  readonly hidden: readonly string[] | undefined;
}

function assertCount(values: readonly string[], head: number, names: readonly string[], what: string): void {
  const count = values.length - head;
  if (count !== names.length) refuse(`The ${what} has ${count} fields instead of ${names.length}.`);
}

/** Checks the texts of an entry. Throws {@link Refuted} if the private text is not the one that the leaf names. */
export function readEntry(leaf: string, hidden: string | undefined): Parts {
  const values = leaf.split('\0');
  const [type = '', digest = '', time = ''] = [values[1], values[4], values[3]];
  if (values[0] !== 'legate-entry-v1') refuse('The leaf is not an entry of version 1.');
  // An unpaired surrogate has the hash of another character.
  if (!leaf.isWellFormed()) refuse('The leaf is not Unicode text.');
  if (!/^[a-z][a-z._-]{0,63}$/.test(type)) refuse('The type of the entry is malformed.');
  const names = namesOf(type);
  assertCount(values, LEAF_HEAD, names.open, 'leaf');
  const head = { type, seq: decimal(values[2] ?? '', 'The number'), timestamp: decimal(time, 'The time'), values };
  if (type === 'absent' && (digest !== '' || time !== '0')) refuse('An absent entry has a digest or a time.');
  if (hidden === undefined) {
    if (type !== 'absent') hashOf(digest, 'The digest');
    return { ...head, hidden };
  }
  if (!hidden.isWellFormed() || sha256(hidden).toString('base64') !== digest)
    refuse('The private text is not the one that was sealed.');
  const parts = hidden.split('\0');
  if (parts[0] !== 'legate-private-v1' || !/^[0-9a-f]{32}$/.test(parts[1] ?? ''))
    refuse('The private text is malformed.');
  assertCount(parts, PRIVATE_HEAD, names.hidden, 'private text');
  return { ...head, hidden: parts };
}

const named = (names: readonly string[], values: readonly string[], head: number): Record<string, string> =>
  Object.fromEntries(names.map((name, i) => [name, values[head + i] as string]));

/** The entry that {@link readEntry} has checked. */
export function entryOf({ type, seq, timestamp, values, hidden }: Parts): Entry {
  const names = namesOf(type);
  const entry = { type, seq, timestamp, fields: named(names.open, values, LEAF_HEAD) };
  return hidden === undefined ? entry : { ...entry, private: named(names.hidden, hidden, PRIVATE_HEAD) };
}

/** The verifier keys that an entry adds to the log: one if it is `ledger.key-added`. */
export function addedKeys({ type, fields }: Entry): string[] {
  if (type !== 'ledger.key-added') return [];
  const { vkey } = canonicalJson(fields['data'] ?? '', 'The data of ledger.key-added');
  return typeof vkey === 'string' ? [vkey] : refuse('The data of ledger.key-added has no key.');
}
