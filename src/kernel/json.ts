import { z } from 'zod';
import { type Issue, validationFailed } from './errors.ts';
import { issueMessage } from './issue-messages.ts';

z.config({ customError: issueMessage });

/** Maximum nesting of objects and arrays in a body. */
const MAX_DEPTH = 32;

/** Maximum nesting of an object from a call in process, which has no body. A circular one has no end. */
const MAX_DEPTH_IN_PROCESS = 500;

/**
 * Parses JSON strictly: duplicate keys, which JSON.parse would merge silently, are refused. Linear in the length of the
 * text. Throws 400 VALIDATION_FAILED.
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw validationFailed([
      { path: '', message: text.trim() === '' ? 'the body is empty; send JSON' : 'the body is not valid JSON' },
    ]);
  }
  if (membersInText(text) !== membersInValue(value, 0))
    throw validationFailed([{ path: '', message: 'the body repeats a key within one object' }]);
  return value;
}

/** Counts the members as written: colons outside strings. The text must be valid JSON. */
function membersInText(text: string): number {
  let members = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22) {
      for (i++; i < text.length; i++) {
        const d = text.charCodeAt(i);
        if (d === 0x5c) i++;
        else if (d === 0x22) break;
      }
    } else if (c === 0x3a) members++;
  }
  return members;
}

function membersInValue(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depth >= MAX_DEPTH)
    throw validationFailed([{ path: '', message: `the body is nested deeper than ${MAX_DEPTH} levels` }]);
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) members += membersInValue(item, depth + 1);
  } else {
    for (const key in value) members += 1 + membersInValue((value as Record<string, unknown>)[key], depth + 1);
  }
  return members;
}

/** Returns whether both databases store and return a text unchanged: it has neither NUL nor lone surrogates. */
export const isCleanText = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed();

/** A text that both databases store and return unchanged. */
export const text = (max: number, min = 1) =>
  z.string().min(min).max(max).refine(isCleanText, { message: 'must not contain NUL or unpaired surrogates' });

function jsonProblem(value: unknown, path: string, depth = 0): Issue | undefined {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? undefined : { path, message: 'must not contain unpaired surrogates' };
    case 'number':
      return Number.isFinite(value) ? undefined : { path, message: 'is a number outside the range of a double' };
    case 'object': {
      if (value === null) return undefined;
      if (depth > MAX_DEPTH_IN_PROCESS)
        return { path: '', message: `is circular or nested deeper than ${MAX_DEPTH_IN_PROCESS} levels` };
      for (const [key, item] of Object.entries(value)) {
        if (!key.isWellFormed()) return { path, message: 'has a key with unpaired surrogates' };
        const problem = jsonProblem(item, path === '' ? key : `${path}.${key}`, depth + 1);
        if (problem) return problem;
      }
      return undefined;
    }
    case 'bigint':
      return { path, message: 'is not a value of JSON' };
    default:
      return undefined;
  }
}

/** A free-form JSON object of at most `maxBytes` bytes of JSON, kept unchanged. */
export const jsonObject = (maxBytes: number) =>
  z
    .custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
      message: 'must be an object',
    })
    .superRefine((value, ctx) => {
      const problem = jsonProblem(value, '');
      if (problem)
        ctx.addIssue({ code: 'custom', path: problem.path ? problem.path.split('.') : [], message: problem.message });
      else if (Buffer.byteLength(JSON.stringify(value)) > maxBytes)
        ctx.addIssue({ code: 'custom', message: `must be at most ${maxBytes} bytes of JSON` });
    })
    .meta({ type: 'object', additionalProperties: true });

/** A stored free-form JSON object in a response. `z.record` would drop a member named `__proto__`. */
export const storedObject = z.custom<Record<string, unknown>>().meta({ type: 'object', additionalProperties: true });

const INSTANT_EXPECTED = 'must be an ISO 8601 date-time with a time zone, such as 2030-01-31T12:00:00.000Z';
const INSTANTS = [z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 })];

/** Later times have five-digit years, which this format cannot read back. */
const END_OF_YEAR_9999 = Date.UTC(10_000, 0);

/**
 * An ISO 8601 date-time with a time zone, as milliseconds since the epoch. Seconds are optional, since java.time omits
 * them when they are zero.
 */
export const isoInstant = z
  .string(INSTANT_EXPECTED)
  .refine((value) => INSTANTS.some((form) => form.safeParse(value).success), INSTANT_EXPECTED)
  .meta({ format: 'date-time' })
  .transform((value) => Date.parse(value))
  .refine((ms) => ms < END_OF_YEAR_9999, INSTANT_EXPECTED);

/** For filters: a date-time with a time zone, or a date, which means midnight UTC. */
export const isoMoment = z.union([isoInstant, z.iso.date().transform((date) => Date.parse(`${date}T00:00:00.000Z`))], {
  error: 'must be an ISO 8601 date-time with a time zone, or a date',
});

/** A timestamp in a response. */
export const isoTimestamp = z.string().meta({ format: 'date-time' });

/** Converts zod issues into `details.issues`. */
export function toIssues(error: z.ZodError, prefix = ''): Issue[] {
  return error.issues.slice(0, 20).flatMap((issue) => {
    const base = prefix ? [prefix] : [];
    const path = (parts: PropertyKey[]): string => [...base, ...parts.map(String)].join('.');
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ path: path([...issue.path, key]), message: 'is not a known field' }));
    return [{ path: path(issue.path), message: issue.message }];
  });
}

/** Parses with a schema. Throws 400 VALIDATION_FAILED that names every invalid field. */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown, prefix = ''): z.output<S> {
  const result = schema.safeParse(value);
  if (!result.success) throw validationFailed(toIssues(result.error, prefix));
  return result.data;
}
