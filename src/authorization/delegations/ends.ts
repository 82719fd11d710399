/** Ends in milliseconds; null: never. */
export const earliest = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.min(a, b);
export const latest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : Math.max(a, b);
