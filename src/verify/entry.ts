import { canonicalJson, decimal, hashOf, refuse, sha256 } from './canonical.ts';

const PUBLIC_FIELDS: Readonly<Record<string, readonly string[]>> = {
  audit: 'id agentId userId action resource result reason durationMs tokensCost delegationIds'.split(' '),
  'audit.erased': ['what', 'seqs'],
};
const PRIVATE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  audit: ['parameters', 'ip', 'userAgent'],
};
const EVENT_FIELDS = ['id', 'agentId', 'userId', 'data'];
const isOfLedger = (type: string): boolean => type.startsWith('ledger.');

/** An entry as its leaf states it. `private` is absent if it was withheld or erased. */
export interface Entry {
  readonly type: string;
  readonly seq: number;
  readonly timestamp: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly private?: Readonly<Record<string, string>>;
}

function named(names: readonly string[], values: readonly string[], what: string): Record<string, string> {
  if (names.length !== values.length) refuse(`The ${what} has ${values.length} fields instead of ${names.length}.`);
  return Object.fromEntries(names.map((name, i) => [name, values[i] as string]));
}

/** Parses the texts of an entry. Throws {@link Refuted} if the private text is not the one that the leaf names. */
export function parseEntry(leaf: string, hidden: string | undefined): Entry {
  const [version, type = '', seqText = '', timeText = '', digest = '', ...values] = leaf.split('\0');
  if (version !== 'legate-entry-v1') refuse('The leaf is not an entry of version 1.');
  if (!/^[a-z][a-z._-]{0,63}$/.test(type)) refuse('The type of the entry is malformed.');
  const fields = named(PUBLIC_FIELDS[type] ?? (isOfLedger(type) ? ['data'] : []), values, 'leaf');
  const entry = { type, seq: decimal(seqText, 'The number'), timestamp: decimal(timeText, 'The time'), fields };
  if (type !== 'absent') hashOf(digest, 'The digest');
  else if (digest !== '' || timeText !== '0') refuse('An absent entry has a digest or a time.');
  if (hidden === undefined) return entry;
  if (sha256(hidden).toString('base64') !== digest) refuse('The private text is not the one that was sealed.');
  const [privateVersion, salt = '', ...privateValues] = hidden.split('\0');
  if (privateVersion !== 'legate-private-v1' || !/^[0-9a-f]{32}$/.test(salt)) refuse('The private text is malformed.');
  const names = PRIVATE_FIELDS[type] ?? EVENT_FIELDS.slice(0, isOfLedger(type) ? 3 : 4);
  return { ...entry, private: named(names, privateValues, 'private text') };
}

/** The verifier keys that an entry adds to the log: one if it is `ledger.key-added`. */
export function addedKeys({ type, fields }: Entry): string[] {
  if (type !== 'ledger.key-added') return [];
  const { vkey } = canonicalJson(fields['data'] ?? '', 'The data of ledger.key-added');
  return typeof vkey === 'string' ? [vkey] : refuse('The data of ledger.key-added has no key.');
}
