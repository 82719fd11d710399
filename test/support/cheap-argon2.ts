import { createRequire } from 'node:module';

const real = createRequire(import.meta.url)('@node-rs/argon2') as typeof import('@node-rs/argon2');

/**
 * Replaces `@node-rs/argon2` in the suites on databases, which hash thousands of passwords, with the same function at
 * 64 KiB and one pass. A hash names the requested cost, so that stored hashes look as usual. The unit tests and the
 * built package's processes hash with the real cost.
 */
const CHEAP = { memoryCost: 64, timeCost: 1 };
const COST = /m=\d+,t=\d+/;
const CHEAP_COST = `m=${CHEAP.memoryCost},t=${CHEAP.timeCost}`;

interface CostOptions {
  readonly memoryCost: number;
  readonly timeCost: number;
  readonly parallelism: number;
}

export async function hash(password: string | Uint8Array, options: CostOptions): Promise<string> {
  const hashed = await real.hash(password, { ...options, ...CHEAP });
  return hashed.replace(COST, `m=${options.memoryCost},t=${options.timeCost}`);
}

/** The cost of each verification so far, as its hash states it. */
export const verifiedCosts: string[] = [];

export function verify(hashed: string, password: string | Uint8Array): Promise<boolean> {
  verifiedCosts.push(COST.exec(hashed)?.[0] ?? 'none');
  return real.verify(hashed.replace(COST, CHEAP_COST), password);
}
