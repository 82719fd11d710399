import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoInstant, jsonObject, parseJson, parseWith, text } from './json.ts';

const issues = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return (error as { details: { issues: unknown } }).details.issues;
  }
  return 'nothing was refused';
};

describe('parseJson', () => {
  it('returns what JSON.parse returns, for every JSON text without duplicate keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(4), (value, indent) => {
        const written = JSON.stringify(value, null, indent);
        expect(parseJson(written)).toEqual(JSON.parse(written));
      }),
    );
  });

  it.each([
    ['at the top', '{"a":1,"a":2}'],
    ['deep inside', '{"x":[{"y":{"a":1,"b":2,"a":3}}]}'],
    ['written in two ways', '{"a":1,"\\u0061":2}'],
    ['that JSON.parse treats as special', '{"__proto__":1,"__proto__":2}'],
  ])('refuses a duplicate key %s (RFC 7493, section 2.3)', (_, json) => {
    expect(issues(() => parseJson(json))).toEqual([{ path: '', message: 'the body repeats a key within one object' }]);
  });

  it('is not misled by colons, quotes and braces inside strings', () => {
    const value = { 'a:"}{': ':{"b":1,"b":2}', c: ['\\', '\\"', ':'] };
    expect(parseJson(JSON.stringify(value))).toEqual(value);
  });

  it('keeps __proto__ as an ordinary key', () => {
    const value = parseJson('{"__proto__":{"admin":true}}') as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(value['admin']).toBeUndefined();
  });

  it('refuses text that is not JSON, and names an empty body', () => {
    for (const json of ['{', '{"a":}', "{'a':1}", '[1,]', 'NaN', '\u0000'])
      expect(
        issues(() => parseJson(json)),
        json,
      ).toEqual([{ path: '', message: 'the body is not valid JSON' }]);
    expect(issues(() => parseJson(' \n'))).toEqual([{ path: '', message: 'the body is empty; send JSON' }]);
  });

  it('refuses more than 32 levels of nesting, even 200,000', () => {
    const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    expect(parseJson(nested(32))).toBeTypeOf('object');
    expect(issues(() => parseJson(nested(33)))).toMatchObject([{ message: expect.stringContaining('nested deeper') }]);
    expect(issues(() => parseJson('['.repeat(200_000) + ']'.repeat(200_000)))).toMatchObject([{ path: '' }]);
  });
});

describe('text', () => {
  it.each([
    ['NUL', 'a\u0000b'],
    ['an unpaired high surrogate', 'a\ud800'],
    ['an unpaired low surrogate', '\udc00b'],
    ['an empty text', ''],
    ['a text that is too long', 'x'.repeat(11)],
  ])('refuses %s', (_, value) => {
    expect(issues(() => parseWith(text(10), value))).toMatchObject([{ path: '' }]);
  });

  it('accepts all other Unicode unchanged', () => {
    for (const value of ['é', 'e\u0301', '😀', '\u202e', 'null']) expect(parseWith(text(10), value)).toBe(value);
  });
});

describe('jsonObject', () => {
  it('names the position of a number that a double cannot hold', () => {
    expect(issues(() => parseWith(jsonObject(1000), JSON.parse('{"a":{"b":[1,1e400]}}')))).toEqual([
      { path: 'a.b.1', message: 'is a number outside the range of a double' },
    ]);
  });

  it('refuses unpaired surrogates in keys and values', () => {
    expect(issues(() => parseWith(jsonObject(1000), { a: '\ud800' }))).toMatchObject([{ path: 'a' }]);
    expect(issues(() => parseWith(jsonObject(1000), { '\ud800': 1 }))).toMatchObject([
      { message: expect.stringContaining('key') },
    ]);
  });

  it('counts bytes, not characters', () => {
    expect(parseWith(jsonObject(12), { a: 'éé' })).toEqual({ a: 'éé' });
    expect(issues(() => parseWith(jsonObject(11), { a: 'éé' }))).toEqual([
      { path: '', message: 'must be at most 11 bytes of JSON' },
    ]);
  });

  it.each([
    ['an array', []],
    ['null', null],
    ['a text', 'x'],
    ['a number', 1],
  ])('refuses %s', (_, value) => {
    expect(issues(() => parseWith(jsonObject(100), value))).toEqual([{ path: '', message: 'must be an object' }]);
  });
});

describe('isoInstant', () => {
  it.each([
    ['2030-01-31T12:00:00Z', Date.UTC(2030, 0, 31, 12)],
    ['2030-01-31T12:00:00.123Z', Date.UTC(2030, 0, 31, 12, 0, 0, 123)],
    ['2030-01-31T12:00:00+02:00', Date.UTC(2030, 0, 31, 10)],
    ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
    ['2030-01-31T12:34Z', Date.UTC(2030, 0, 31, 12, 34)],
    ['2030-01-31T12:34-01:00', Date.UTC(2030, 0, 31, 13, 34)],
  ])('accepts %s (RFC 3339, section 5.6; ISO 8601)', (value, ms) => {
    expect(parseWith(isoInstant, value)).toBe(ms);
  });

  it.each([
    '2030-01-31',
    '2030-01-31T12:00:00',
    '2030-01-31T12:00',
    '2030-01-31T12Z',
    '2030-01-31T24:00Z',
    '2030-01-31T12:00:60Z',
    '2030-01-31T12:00:00+24:00',
    '2029-02-29T00:00Z',
    '2030-02-30T00:00:00Z',
    '2030-13-01T00:00:00Z',
    'tomorrow',
    '',
    '1893456000000',
  ])('refuses %j', (value) => {
    expect(issues(() => parseWith(isoInstant, value))).toMatchObject([{ path: '' }]);
  });
});
