export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
export const ms = (value) => `${value.toFixed(value < 10 ? 2 : 0)} ms`;
export const thousands = (value) => Math.round(value).toLocaleString('en-US');
export const ratio = (value) => value.toFixed(2);
export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
