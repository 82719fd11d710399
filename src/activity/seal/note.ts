import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** Type byte of an Ed25519 key that signs notes (C2SP signed-note). */
const ED25519 = 0x01;
/** Prefix of a 32-byte seed in an Ed25519 private key in PKCS #8 (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
/** Prefix of the bytes of an Ed25519 public key (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
/** Bytes of an Ed25519 seed and of a public key. */
const SEED = 32;
const KEY_ID = 4;

/** A key that verifies notes. */
export interface NoteVerifier {
  readonly name: string;
  /** First bytes of the hash of name and key. Each signature line begins with them. */
  readonly id: Buffer;
  readonly key: KeyObject;
}

export interface NoteSigner extends NoteVerifier {
  /** The verifier key, to be published: `<name>+<id>+<key>`. */
  readonly vkey: string;
  readonly sign: (text: string) => Buffer;
}

/** The parts of a checkpoint (C2SP tlog-checkpoint). */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
}

const keyId = (name: string, key: Uint8Array): Buffer =>
  createHash('sha256').update(`${name}\n`).update(key).digest().subarray(0, KEY_ID);

/** The verifier key of a key, encoded with its type byte, under a name. */
export function vkeyOf(name: string, encoded: string): string {
  return `${name}+${keyId(name, Buffer.from(encoded, 'base64')).toString('hex')}+${encoded}`;
}

/** Creates a signer from 32 secret bytes. */
export function noteSigner(name: string, seed: Uint8Array): NoteSigner {
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  const key = createPublicKey(secret);
  const raw = Buffer.concat([Buffer.of(ED25519), key.export({ format: 'der', type: 'spki' }).subarray(-SEED)]);
  return {
    name,
    id: keyId(name, raw),
    key,
    vkey: vkeyOf(name, raw.toString('base64')),
    sign: (text) => sign(null, Buffer.from(text), secret),
  };
}

/** Reads a verifier key that {@link noteSigner} has created. */
export function noteVerifier(vkey: string): NoteVerifier {
  const [name = '', id = '', encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey)?.slice(1) ?? [];
  const key = Buffer.concat([SPKI, Buffer.from(encoded, 'base64').subarray(1)]);
  return { name, id: Buffer.from(id, 'hex'), key: createPublicKey({ key, format: 'der', type: 'spki' }) };
}

const signatureLine = (signer: NoteSigner, text: string): string =>
  `— ${signer.name} ${Buffer.concat([signer.id, signer.sign(text)]).toString('base64')}\n`;

export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`;

/** Signs a checkpoint with each key. */
export function signCheckpoint(checkpoint: Checkpoint, signers: readonly NoteSigner[]): string {
  const text = checkpointText(checkpoint);
  return `${text}\n${signers.map((signer) => signatureLine(signer, text)).join('')}`;
}

/** Returns the checkpoint of a note that one of the keys has signed; undefined if none has, or if it is malformed. */
export function openCheckpoint(note: string, keys: readonly NoteVerifier[]): Checkpoint | undefined {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) return undefined;
  const text = note.slice(0, end + 1);
  const isSigned = note
    .slice(end + 2, -1)
    .split('\n')
    .some((line) => {
      const [dash, name, encoded = ''] = line.split(' ');
      const bytes = Buffer.from(encoded, 'base64');
      const key = keys.find((one) => one.name === name && one.id.equals(bytes.subarray(0, KEY_ID)));
      return dash === '—' && key && verify(null, Buffer.from(text), key.key, bytes.subarray(KEY_ID));
    });
  const [origin = '', size = '', root = ''] = text.split('\n');
  const checkpoint = { origin, size: Number(size), root: Buffer.from(root, 'base64') };
  return isSigned && checkpointText(checkpoint) === text ? checkpoint : undefined;
}
