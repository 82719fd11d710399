/** A claim of a proof, and whether it is true. undefined means that this browser cannot check it. */
export interface Claim {
  readonly claim: 'entry' | 'private' | 'inclusion' | 'signature';
  readonly holds: boolean | undefined;
}

export interface CheckedProof {
  readonly claims: readonly Claim[];
  /** The row of the ledger, and the number of rows in the signed tree. */
  readonly row: number;
  readonly size: number;
  readonly origin: string;
  /** The verifier key with which the signature was checked. */
  readonly key: string;
  /** The names of other signers, whose signatures are not checked here. */
  readonly cosigners: readonly string[];
}

const utf8 = new TextEncoder();
const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
const same = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i]);

async function sha256(...parts: readonly Uint8Array[]): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest('SHA-256', whole));
}

/**
 * Returns the root that results from an inclusion proof (RFC 9162, section 2.1.3.2), or undefined if the proof has a
 * wrong length.
 */
async function rootOf(
  leaf: Uint8Array<ArrayBuffer>,
  index: number,
  size: number,
  proof: readonly Uint8Array[],
): Promise<Uint8Array | undefined> {
  let hash = leaf;
  let [at, last] = [index, size - 1];
  for (const other of proof) {
    if (last === 0) return undefined;
    if (at % 2 === 1 || at === last) {
      hash = await sha256(Uint8Array.of(1), other, hash);
      while (at % 2 === 0 && at > 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else hash = await sha256(Uint8Array.of(1), hash, other);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 ? hash : undefined;
}

/** Checks an Ed25519 signature. Returns undefined if the browser does not support the algorithm. */
async function isSigned(text: string, key: Uint8Array<ArrayBuffer>, signature: Uint8Array<ArrayBuffer>) {
  let imported: CryptoKey;
  try {
    imported = await crypto.subtle.importKey('raw', key, { name: 'Ed25519' }, false, ['verify']);
  } catch {
    return undefined;
  }
  return crypto.subtle.verify({ name: 'Ed25519' }, imported, signature, utf8.encode(text));
}

/** Whether this page may use WebCrypto, which requires https or localhost. */
export const canCheck = (): boolean => globalThis.crypto?.subtle !== undefined;

/**
 * Checks a proof file (C2SP tlog-proof) of an entry under verifier keys of the ledger. Throws if the file has a
 * different form.
 */
export async function checkProof(file: string, entryId: string, keys: readonly string[]): Promise<CheckedProof> {
  const end = file.indexOf('\n\n');
  const [first, extra = '', indexText = '', ...hashes] = file.slice(0, end).split('\n');
  if (first !== 'c2sp.org/tlog-proof@v1') throw new Error('The file is not a proof.');
  const { leaf, private: hidden } = JSON.parse(
    new TextDecoder().decode(bytesOf(extra.slice('extra '.length))),
  ) as Record<string, string>;
  const index = Number(indexText.slice('index '.length));
  const note = file.slice(end + 2);
  const signedEnd = note.lastIndexOf('\n\n');
  const text = note.slice(0, signedEnd + 1);
  const [origin = '', sizeText = '', rootText = ''] = text.split('\n');
  const size = Number(sizeText);
  const signatures = note
    .slice(signedEnd + 2, -1)
    .split('\n')
    .map((line) => {
      const [, name = '', encoded = ''] = line.split(' ');
      return { name, bytes: bytesOf(encoded) };
    });

  const fields = (leaf ?? '').split('\0');
  const claims: Claim[] = [
    { claim: 'entry', holds: fields[1] === 'audit' && Number(fields[2]) === index + 1 && fields[5] === entryId },
  ];
  if (hidden !== undefined)
    claims.push({ claim: 'private', holds: base64Of(await sha256(utf8.encode(hidden))) === fields[4] });
  const leafHash = await sha256(Uint8Array.of(0), utf8.encode(leaf));
  const root = await rootOf(leafHash, index, size, hashes.map(bytesOf));
  claims.push({ claim: 'inclusion', holds: root !== undefined && same(root, bytesOf(rootText)) });

  let [holds, key]: [boolean | undefined, string] = [false, ''];
  for (const vkey of keys) {
    const [, name = '', id = '', encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) ?? [];
    const idBytes = Uint8Array.from(id.match(/../g) ?? [], (hex) => Number.parseInt(hex, 16));
    const signature = signatures.find((each) => each.name === name && same(each.bytes.slice(0, 4), idBytes));
    if (name !== origin || !signature) continue;
    [holds, key] = [await isSigned(text, bytesOf(encoded).slice(1), signature.bytes.slice(4)), vkey];
    break;
  }
  claims.push({ claim: 'signature', holds });
  const cosigners = signatures.map(({ name }) => name).filter((name) => name !== origin);
  return { claims, row: index + 1, size, origin, key, cosigners };
}
