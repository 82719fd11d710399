export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}
export const median = (values) => quantile(values, 0.5);
export const ms = (value) => `${value.toFixed(value < 10 ? 2 : 0)} ms`;
export const thousands = (value) => Math.round(value).toLocaleString('en-US');
export const ratio = (value) => value.toFixed(2);
export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
