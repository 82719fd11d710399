import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';

// Keys, signatures and proofs, implemented from the definitions of the standards without code of the product.

const sha256 = (...parts: readonly (string | Uint8Array)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** A key made from a repeated byte, with the type byte of a log or a witness. */
export function keyOf(name: string, fill: number, type = 1) {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, fill)]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const raw = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
  const bytes = Buffer.concat([Buffer.of(type), raw]);
  const id = sha256(`${name}\n`, bytes).subarray(0, 4);
  const line = (payload: Uint8Array): string => `— ${name} ${Buffer.concat([id, payload]).toString('base64')}\n`;
  return {
    vkey: `${name}+${id.toString('hex')}+${bytes.toString('base64')}`,
    signs: (text: string) => line(sign(null, Buffer.from(text), key)),
    cosigns: (text: string, time: number) => {
      const stamp = Buffer.alloc(8);
      stamp.writeBigUInt64BE(BigInt(time));
      const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${time}\n${text}`), key);
      return line(Buffer.concat([stamp, signature]));
    },
  };
}

const node = (a: Buffer, b: Buffer): Buffer => sha256(Buffer.of(1), a, b);
const split = (n: number): number => 2 ** Math.floor(Math.log2(n - 1));
/** The root of a tree (RFC 6962, section 2.1). */
export const root = (l: readonly Buffer[]): Buffer =>
  l.length === 1 ? (l[0] as Buffer) : node(root(l.slice(0, split(l.length))), root(l.slice(split(l.length))));
/** The inclusion proof of a leaf (RFC 6962, section 2.1.1). */
export function path(m: number, l: readonly Buffer[]): Buffer[] {
  if (l.length === 1) return [];
  const k = split(l.length);
  return m < k ? [...path(m, l.slice(0, k)), root(l.slice(k))] : [...path(m - k, l.slice(k)), root(l.slice(0, k))];
}
/** The consistency proof from the first `m` leaves (RFC 6962, section 2.1.2). */
export function consistency(m: number, l: readonly Buffer[], whole = true): Buffer[] {
  if (m === l.length) return whole ? [] : [root(l)];
  const k = split(l.length);
  return m <= k
    ? [...consistency(m, l.slice(0, k), whole), root(l.slice(k))]
    : [...consistency(m - k, l.slice(k), false), root(l.slice(0, k))];
}
