import { createHash, createPrivateKey, createPublicKey, randomBytes, sign } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'witness-key';
/** Type byte of an Ed25519 key that cosigns (C2SP tlog-cosignature). */
const COSIGNATURE_V1 = 4;
/** What precedes a 32-byte seed in an Ed25519 private key in PKCS #8 (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED = 32;

export interface Cosigner {
  /** The verifier key: `<name>+<id>+<key>`. */
  readonly vkey: string;
  /** Returns the signature line of a checkpoint's text, signed at `time` in seconds (C2SP tlog-cosignature, v1). */
  cosign(text: string, time: number): string;
}

/** Reads the seed of a folder, or creates it (mode 0600). */
export function readSeed(folder: string): Buffer {
  const path = join(folder, FILE);
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, `${randomBytes(SEED).toString('base64url')}\n`, { mode: 0o600 });
  try {
    // Fails if there is a key, which another process may have created at this moment.
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  const seed = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64url');
  if (seed.length !== SEED) throw new Error(`${path} is not the key of a witness.`);
  return seed;
}

/** Makes a cosigner from 32 secret bytes. */
export function cosigner(name: string, seed: Uint8Array): Cosigner {
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
  const raw = createPublicKey(secret).export({ format: 'der', type: 'spki' }).subarray(-SEED);
  const key = Buffer.concat([Buffer.of(COSIGNATURE_V1), raw]);
  const id = createHash('sha256').update(`${name}\n`).update(key).digest().subarray(0, 4);
  return {
    vkey: `${name}+${id.toString('hex')}+${key.toString('base64')}`,
    cosign: (text, time) => {
      const stamp = Buffer.alloc(8);
      stamp.writeBigUInt64BE(BigInt(time));
      const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${time}\n${text}`), secret);
      return `— ${name} ${Buffer.concat([id, stamp, signature]).toString('base64')}\n`;
    },
  };
}
