import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

let known: Promise<ReadonlySet<string>> | undefined;

/** Loaded when the first password is chosen, so that it does not delay the start. */
async function read(): Promise<ReadonlySet<string>> {
  const { PACKED } = await import('./list.ts');
  const text = await promisify(brotliDecompress)(Buffer.from(PACKED, 'base64'));
  return new Set(text.toString('utf8').split('\n'));
}

/** Returns whether a password is one of the 10,000 most common ones, ignoring case. */
export async function isCommonPassword(password: string): Promise<boolean> {
  return (await (known ??= read())).has(password.normalize('NFKC').toLowerCase());
}
