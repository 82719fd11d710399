/** Numbers that look random and are the same for the same seed (Mulberry32). */
export interface Random {
  /** Told when a test fails: with LEGATE_TEST_SEED set to it, the same is drawn again. */
  readonly seed: number;
  /** From 0 up to and without `end`. */
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
