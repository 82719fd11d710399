import type { z } from 'zod';

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  tuple: 'a list',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  email: 'an e-mail address',
  url: 'a URL',
  uuid: 'a UUID',
  datetime: 'an ISO 8601 date-time with a time zone',
  date: 'an ISO 8601 date',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  cidrv4: 'an IPv4 range',
  cidrv6: 'an IPv6 range',
  base64: 'base64',
  base64url: 'base64url',
};

const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
  object: ['member', 'members'],
  record: ['member', 'members'],
};

/** Codes of a schema that was given no value. */
const NEEDS_VALUE: ReadonlySet<unknown> = new Set(['invalid_type', 'invalid_value', 'invalid_union']);

const bound = (origin: string, word: string, limit: number): string => {
  const units = UNITS[origin];
  return units ? `must have ${word} ${limit} ${units[limit === 1 ? 0 : 1]}` : `must be ${word} ${limit}`;
};

/**
 * Returns the message for a value that a schema refuses without its own message, as the rest of a sentence that begins
 * with the name of the field. Returns undefined for errors that only the schema can explain.
 */
export function issueMessage(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined && NEEDS_VALUE.has(issue.code)) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'invalid_value': {
      const values = issue.values.map((value) => JSON.stringify(value) ?? String(value));
      return values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`;
    }
    case 'too_small':
      if (issue.exact) return bound(issue.origin, 'exactly', Number(issue.minimum));
      if (issue.origin in UNITS && Number(issue.minimum) === 1) return 'must not be empty';
      return bound(issue.origin, issue.inclusive ? 'at least' : 'more than', Number(issue.minimum));
    case 'too_big':
      if (issue.exact) return bound(issue.origin, 'exactly', Number(issue.maximum));
      return bound(issue.origin, issue.inclusive ? 'at most' : 'less than', Number(issue.maximum));
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      if (issue.format === 'starts_with') return `must start with "${issue['prefix']}"`;
      if (issue.format === 'ends_with') return `must end with "${issue['suffix']}"`;
      if (issue.format === 'regex') return `must match the pattern ${issue['pattern']}`;
      return FORMATS[issue.format] && `must be ${FORMATS[issue.format]}`;
    case 'unrecognized_keys':
      return `has ${issue.keys.length === 1 ? 'the unknown field' : 'the unknown fields'} ${issue.keys.join(', ')}`;
    case 'invalid_union':
      return 'has none of the forms that are allowed here';
    case 'invalid_key':
      return 'has a key that is not allowed';
    default:
      return undefined;
  }
}
