import { z } from 'zod';
import { assertMatches, entityTagOf, parseIfMatch } from '../kernel/entity-tag.ts';
import { validationFailed } from '../kernel/errors.ts';
import { parseWith } from '../kernel/json.ts';
import { isRepeated, parseQuery } from '../kernel/query.ts';
import type { Caller } from './caller.ts';

/** Options of a change in process. */
export interface ChangeOptions {
  /**
   * The version that the change depends on (contract 17.10): an object as Legate returned it, its ETag, or `*`. Throws
   * 412 PRECONDITION_FAILED if it has changed since.
   */
  readonly ifMatch?: string | object | undefined;
}

const NO_VERSION = 'must be an ETag, or an object as Legate returned it';

const Options = z.strictObject({
  ifMatch: z
    .union([z.string().max(1000), z.custom<object>((value) => typeof value === 'object' && value !== null)], {
      error: NO_VERSION,
    })
    .optional(),
});

/** The caller with the version that its change depends on. Throws 400 VALIDATION_FAILED. */
export function expecting(caller: Caller, options: ChangeOptions = {}): Caller {
  const { ifMatch } = parseWith(Options, options);
  if (ifMatch === undefined) return caller;
  const expected = typeof ifMatch === 'string' ? parseIfMatch(ifMatch) : [tagOf(ifMatch)];
  return { ...caller, assertUnchanged: (current) => assertMatches(expected, current) };
}

function tagOf(shown: object): string {
  try {
    return entityTagOf(shown);
  } catch {
    throw validationFailed([{ path: 'ifMatch', message: NO_VERSION }]);
  }
}

/** Fields of a query that are numbers in process. */
const NUMBERS = ['limit', 'offset', 'buckets', 'fromSeq', 'toSeq'];

type Times = 'expiresAt' | 'expiresBefore' | 'idleSince' | 'since' | 'until';

/** Input of an endpoint called in process, where a time may be a Date. */
export type InProcess<T> = { [K in keyof T]: K extends Times ? T[K] | Date : T[K] };

/**
 * Converts the input to what HTTP would carry. Values that are not objects, and invalid Dates, are passed on to the
 * schema, which refuses them.
 */
export function asOverHttp(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [key, value instanceof Date ? written(value) : value]),
  );
}

/** Filters of an endpoint called in process, where a list may be given as one value. */
export type OneOrMore<T> = {
  [K in keyof T]: T[K] extends (infer V)[] | undefined ? V | readonly V[] | undefined : T[K];
};

/** Parses filters as the query string of HTTP would carry them. Throws 400 VALIDATION_FAILED. */
export function asQuery<S extends z.ZodObject>(schema: S, input: object): z.output<S> {
  const carried = asOverHttp(input);
  if (typeof carried !== 'object' || carried === null) return parseQuery(schema, carried);
  return parseQuery(
    schema,
    Object.fromEntries(
      Object.entries(carried).map(([key, value]) => [
        key,
        NUMBERS.includes(key) && typeof value === 'number'
          ? String(value)
          : isRepeated(schema.shape[key]) && typeof value === 'string'
            ? [value]
            : value,
      ]),
    ),
  );
}

const written = (date: Date): string => (Number.isNaN(date.getTime()) ? String(date) : date.toISOString());
