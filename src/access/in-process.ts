type Times = 'expiresAt' | 'expiresBefore' | 'idleSince' | 'since' | 'until';

/** Input of an endpoint called in process, where a time may be a Date. */
export type InProcess<T> = { [K in keyof T]: K extends Times ? T[K] | Date : T[K] };

/**
 * Converts the input to what HTTP would carry. Anything but an object, and an invalid Date, is left for the schema to
 * refuse.
 */
export function asOverHttp(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [key, value instanceof Date ? written(value) : value]),
  );
}

const written = (date: Date): string => (Number.isNaN(date.getTime()) ? String(date) : date.toISOString());
