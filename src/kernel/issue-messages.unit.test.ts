import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LegateError } from './errors.ts';
import { parseWith } from './json.ts';

const schema = z.strictObject({
  name: z.string().min(1).max(3),
  type: z.enum(['bot', 'service']),
  kind: z.literal('x'),
  count: z.int().min(2).max(5),
  ratio: z.number().gt(0).lt(1),
  step: z.number().multipleOf(5),
  flag: z.boolean(),
  items: z.array(z.string()).min(1).max(2),
  pair: z.array(z.string()).min(2),
  code: z.string().length(6),
  address: z.email(),
  id: z.string().regex(/^a$/),
  path: z.string().startsWith('/'),
  either: z.union([z.string(), z.strictObject({ a: z.string() })]),
  map: z.record(z.string(), z.number()),
});
const valid = {
  name: 'n',
  type: 'bot',
  kind: 'x',
  count: 2,
  ratio: 0.5,
  step: 5,
  flag: true,
  items: ['a'],
  pair: ['a', 'b'],
  code: 'abcdef',
  address: 'a@example.com',
  id: 'a',
  path: '/',
  either: 'a',
  map: {},
};

const messageFor = (field: string, value: unknown): unknown => {
  try {
    parseWith(schema, { ...valid, [field]: value });
  } catch (error) {
    if (error instanceof LegateError) return error.message;
  }
  return undefined;
};

describe('the message about a refused field', () => {
  it.each([
    ['name', '', 'name: must not be empty'],
    ['name', 'four', 'name: must have at most 3 characters'],
    ['name', 5, 'name: must be a string'],
    ['name', undefined, 'name: is required'],
    ['type', 'person', 'type: must be one of "bot", "service"'],
    ['type', undefined, 'type: is required'],
    ['kind', 'y', 'kind: must be "x"'],
    ['count', 1, 'count: must be at least 2'],
    ['count', 6, 'count: must be at most 5'],
    ['count', 2.5, 'count: must be a whole number'],
    ['ratio', 0, 'ratio: must be more than 0'],
    ['ratio', 1, 'ratio: must be less than 1'],
    ['step', 4, 'step: must be a multiple of 5'],
    ['flag', 'yes', 'flag: must be true or false'],
    ['items', [], 'items: must not be empty'],
    ['items', ['a', 'b', 'c'], 'items: must have at most 2 items'],
    ['items', 'a', 'items: must be a list'],
    ['items', [1], 'items.0: must be a string'],
    ['pair', ['a'], 'pair: must have at least 2 items'],
    ['code', 'abc', 'code: must have exactly 6 characters'],
    ['address', 'a', 'address: must be an e-mail address'],
    ['id', 'b', 'id: must match the pattern /^a$/'],
    ['path', 'a', 'path: must start with "/"'],
    ['either', 5, 'either: has none of the forms that are allowed here'],
    ['either', undefined, 'either: is required'],
    ['map', 'a', 'map: must be an object'],
    ['map', { a: 'b' }, 'map.a: must be a number'],
    ['more', 1, 'more: is not a known field'],
  ])('%s %j', (field, value, message) => {
    expect(messageFor(field, value)).toBe(`The request is not valid: ${message}`);
  });
});
