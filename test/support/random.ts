/** Pseudo-random numbers, reproducible by seed (Mulberry32). */
export interface Random {
  /** The seed, printed when a test fails. LEGATE_TEST_SEED repeats its numbers. */
  readonly seed: number;
  /** Returns an integer from 0 to `end`, exclusive. */
  below(end: number): number;
}

export function random(seed = Number(process.env['LEGATE_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31))): Random {
  let state = seed;
  return {
    seed,
    below: (end) => {
      state = (state + 0x6d2b79f5) | 0;
      let x = Math.imul(state ^ (state >>> 15), 1 | state);
      x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
      return Math.floor((((x ^ (x >>> 14)) >>> 0) / 2 ** 32) * end);
    },
  };
}
