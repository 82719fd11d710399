type Times = 'expiresAt' | 'since' | 'until';

/** Input of an endpoint as an application in process gives it: a time may be a Date. */
export type InProcess<T> = { [K in keyof T]: K extends Times ? T[K] | Date : T[K] };

/** The same as it would come over HTTP. What is not an object is for the schema to refuse, and so is a Date that is none. */
export function asOverHttp(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [key, value instanceof Date ? written(value) : value]),
  );
}

const written = (date: Date): string => (Number.isNaN(date.getTime()) ? String(date) : date.toISOString());
