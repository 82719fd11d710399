import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { base64, CONTROL, decimal, HASH, hashOf, refuse, sha256, Undecidable } from './canonical.ts';

/** Type bytes of Ed25519 keys (C2SP signed-note, tlog-cosignature). */
export const LOG_KEY = 1;
const WITNESS_KEY = 4;
/** The bytes before the key in an Ed25519 public key (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

export interface TrustedKey {
  readonly name: string;
  readonly type: typeof LOG_KEY | typeof WITNESS_KEY;
  readonly id: string;
  /** The key in base64, without its type. */
  readonly raw: string;
  /** The last part of the verifier key. */
  readonly encoded: string;
  readonly key: KeyObject;
}

/** Parses a verifier key `<name>+<id>+<base64>`. Throws {@link Undecidable}. */
export function parseKey(vkey: string): TrustedKey {
  const [, name = '', id = '', encoded = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(vkey) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  const [type] = bytes;
  const isKey = bytes.length === HASH + 1 && bytes.toString('base64') === encoded;
  if (name === '' || !isKey || (type !== LOG_KEY && type !== WITNESS_KEY))
    throw new Undecidable(`${JSON.stringify(vkey)} is not a verifier key of an Ed25519 key.`);
  if (sha256(Buffer.concat([Buffer.from(`${name}\n`), bytes])).toString('hex', 0, 4) !== id)
    throw new Undecidable(`The key id of ${name} does not belong to the key.`);
  const key = createPublicKey({ key: Buffer.concat([SPKI, bytes.subarray(1)]), format: 'der', type: 'spki' });
  return { name, type, id, raw: encoded.slice(2), encoded, key };
}

/** The required signatures: one of the logs, and witnesses according to the quorum. */
export interface Policy {
  readonly logs: readonly TrustedKey[];
  /** Witnesses by their names in the policy. */
  readonly witnesses: ReadonlyMap<string, TrustedKey>;
  /** Addresses of the witnesses that have one in the policy. */
  readonly addresses: ReadonlyMap<string, string>;
  /** Returns whether these witnesses, by name, are enough. */
  readonly isQuorum: (cosigned: ReadonlySet<string>) => boolean;
}

/** Returns a policy that requires a signature of one of the logs and cosignatures of all witnesses. */
export function policyOfKeys(keys: readonly TrustedKey[]): Policy {
  const witnesses = new Map(keys.filter(({ type }) => type === WITNESS_KEY).map((key) => [key.name, key]));
  return {
    logs: keys.filter(({ type }) => type === LOG_KEY),
    witnesses,
    addresses: new Map(),
    isQuorum: (cosigned) => [...witnesses.keys()].every((name) => cosigned.has(name)),
  };
}

/** Control characters of ASCII except tab. Non-ASCII characters have no meaning in a policy. */
const POLICY_CONTROL = /(?![\t\u0080-\u009f])\p{Cc}/u;

/** Parses a policy file (C2SP tlog-policy). Throws {@link Undecidable}. */
export function parsePolicy(text: string): Policy {
  const wrong = (line: string, why: string): never => {
    throw new Undecidable(`The policy is not valid: ${why}: ${JSON.stringify(line)}`);
  };
  const logs: TrustedKey[] = [];
  const witnesses = new Map<string, TrustedKey>();
  const addresses = new Map<string, string>();
  const members = new Set<string>();
  const tests = new Map<string, (cosigned: ReadonlySet<string>) => boolean>();
  let quorum: Policy['isQuorum'] | undefined;
  for (const line of text.split('\n')) {
    if (POLICY_CONTROL.test(line)) wrong(line, 'a control character');
    const [word, ...rest] = line.split(/[ \t]+/).filter((item) => item !== '');
    if (word === undefined || word.startsWith('#')) continue;
    const [first = '', second = '', ...others] = rest;
    const isNew = first !== '' && first !== 'none' && !tests.has(first);
    if (word === 'log' && rest.length >= 1 && rest.length <= 2) {
      const key = parseKey(first);
      if (key.type !== LOG_KEY || logs.some(({ raw }) => raw === key.raw)) wrong(line, 'not a new key of a log');
      logs.push(key);
    } else if (word === 'witness' && isNew && rest.length >= 2 && rest.length <= 3) {
      const key = parseKey(second);
      if (key.type !== WITNESS_KEY || [...witnesses.values()].some(({ raw }) => raw === key.raw))
        wrong(line, 'not a new key of a witness');
      witnesses.set(first, key);
      if (others[0] !== undefined) addresses.set(first, others[0]);
      tests.set(first, (cosigned) => cosigned.has(first));
    } else if (word === 'group' && isNew && others.length > 0) {
      const needed =
        second === 'all' ? others.length : second === 'any' ? 1 : Number(/^[1-9]\d{0,3}$/.exec(second)?.[0]);
      if (!(needed <= others.length)) wrong(line, 'not a possible threshold');
      const parts = others.map((name) => {
        if (members.has(name)) wrong(line, 'a member is listed twice');
        members.add(name);
        return tests.get(name) ?? wrong(line, 'a member is not defined before');
      });
      tests.set(first, (cosigned) => parts.filter((test) => test(cosigned)).length >= needed);
    } else if (word === 'quorum' && rest.length === 1 && !quorum) {
      quorum = first === 'none' ? () => true : (tests.get(first) ?? wrong(line, 'the quorum is not defined before'));
    } else wrong(line, 'not a line of a policy');
  }
  if (!quorum) throw new Undecidable('The policy is not valid: it has no quorum line.');
  return { logs, witnesses, addresses, isQuorum: quorum };
}

/** A checkpoint that the policy accepts. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
  readonly signedBy: readonly string[];
  /** Witnesses with the time of their cosignature, in seconds. */
  readonly cosigned: readonly { readonly name: string; readonly time: number }[];
}

/** Opens a checkpoint. Throws {@link Refuted}, and {@link Undecidable} if no trusted key has signed. */
export function openCheckpoint(note: string, policy: Policy): Checkpoint {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) refuse('The checkpoint is not a signed note.');
  const text = note.slice(0, end + 1);
  if (CONTROL.test(note)) refuse('The checkpoint contains control characters.');
  const lines = note.slice(end + 2, -1).split('\n');
  if (lines.length > 100) refuse('The checkpoint has more than 100 signatures.');
  const signedBy: string[] = [];
  const cosigned: { name: string; time: number }[] = [];
  // Further lines are opaque (C2SP tlog-checkpoint) and signed like the rest.
  const [origin = '', sizeText = '', rootText = '', ...extension] = text.slice(0, -1).split('\n');
  if (origin === '' || extension.includes('')) refuse('The checkpoint has an empty line.');
  for (const line of lines) {
    const [, name = '', encoded = ''] =
      /^— ([^\s+]+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? refuse('A signature line is malformed.');
    const bytes = base64(encoded, 'A signature');
    if (bytes.length < 5) refuse('A signature is too short.');
    const id = bytes.toString('hex', 0, 4);
    const isKnown = (key: TrustedKey): boolean => key.name === name && key.id === id;
    const log = policy.logs.find(isKnown);
    if (log) {
      if (!verify(null, Buffer.from(text), log.key, bytes.subarray(4))) refuse(`The signature of ${name} is wrong.`);
      if (name === origin) signedBy.push(`${name}+${id}`);
    }
    for (const [witness, key] of policy.witnesses) {
      if (!isKnown(key)) continue;
      const time =
        bytes.length === 4 + 8 + 64 ? Number(bytes.readBigUInt64BE(4)) : refuse('A cosignature is malformed.');
      const message = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`);
      if (!verify(null, message, key.key, bytes.subarray(12))) refuse(`The cosignature of ${witness} is wrong.`);
      cosigned.push({ name: witness, time });
    }
  }
  const checkpoint = {
    origin,
    size: decimal(sizeText, 'The size'),
    root: hashOf(rootText, 'The root'),
    signedBy,
    cosigned,
  };
  if (signedBy.length === 0) throw new Undecidable(`None of the trusted keys has signed this checkpoint of ${origin}.`);
  if (!policy.isQuorum(new Set(cosigned.map(({ name }) => name))))
    throw new Undecidable('Too few of the witnesses that the policy names have cosigned the checkpoint.');
  return checkpoint;
}
