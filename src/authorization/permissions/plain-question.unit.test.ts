import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AuthorizeBody } from './index.ts';
import { isPlainQuestion, parseSimpleAuthorize } from './plain-question.ts';

const short = fc.oneof(
  fc.constantFrom('read', 'mcp:github:list_issues', '', '\u0000', '\ud800', '\ufffd', 'é', '"', '\\'),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('x'.repeat(64), 'x'.repeat(65), 'x'.repeat(128), 'x'.repeat(129), 'x'.repeat(512), 'x'.repeat(513)),
);
const leaf = fc.oneof(short, fc.double(), fc.integer(), fc.boolean(), fc.constant(null));
const key = fc.oneof(
  fc.constantFrom(
    'agentId',
    'action',
    'resource',
    'arguments',
    'context',
    'explain',
    'tokensCost',
    '__proto__',
    'constructor',
    'extra',
  ),
  short,
);
const flat = fc.array(fc.tuple(key, leaf), { maxLength: 4 }).map((entries) => Object.fromEntries(entries));
const anything = fc.oneof(
  leaf,
  flat,
  fc.array(leaf, { maxLength: 3 }),
  fc.array(fc.tuple(key, flat), { maxLength: 2 }).map((entries) => Object.fromEntries(entries)),
);
const question = fc.record(
  { agentId: short, action: short, resource: short, arguments: fc.oneof(flat, anything) },
  { requiredKeys: ['action', 'resource'] },
);
const damaged = fc
  .tuple(question, fc.array(fc.tuple(key, anything), { maxLength: 2 }))
  .map(([whole, more]) => ({ ...whole, ...Object.fromEntries(more) }));

test('the schema accepts every recognised value unchanged', () => {
  let recognised = 0;
  fc.assert(
    fc.property(fc.oneof(question, damaged, anything), (value) => {
      const json = JSON.stringify(value);
      const parsed: unknown = JSON.parse(json);
      const plain = parseSimpleAuthorize(json, parsed);
      if (plain === undefined) return;
      recognised++;
      expect(AuthorizeBody.parse(parsed)).toEqual(plain);
    }),
    { numRuns: 20_000 },
  );
  // The property is meaningful only if some values are recognised.
  expect(recognised).toBeGreaterThan(1000);
});

test('the schema accepts every plain value unchanged', () => {
  const context = fc.record(
    {
      ip: fc.constantFrom('127.0.0.1', '::1', 'nowhere', ''),
      userAgent: fc.oneof(short, fc.constant('x'.repeat(600))),
    },
    { requiredKeys: [] },
  );
  const name = fc.oneof({ weight: 3, arbitrary: fc.constantFrom('read', 'x'.repeat(64)) }, short);
  const asked = fc.record(
    { agentId: name, action: name, resource: name, arguments: fc.oneof(flat, anything), context },
    { requiredKeys: ['agentId', 'action', 'resource'] },
  );
  let plain = 0;
  fc.assert(
    fc.property(asked, (value) => {
      const question = JSON.parse(JSON.stringify(value));
      if (!isPlainQuestion(question)) return;
      plain++;
      expect(AuthorizeBody.parse(question)).toEqual(question);
    }),
    { numRuns: 20_000 },
  );
  expect(plain).toBeGreaterThan(1000);
  const question = { agentId: 'agt_1', action: 'execute', resource: 'mcp:notes:search' };
  expect(isPlainQuestion({ ...question, arguments: { query: 'x'.repeat(10_000) } })).toBe(false);
});

test.each([
  ['a number beyond a double', '{"action":"read","resource":"a","arguments":{"n":1e400}}'],
  ['nothing named', '{}'],
  ['no action', '{"resource":"a"}'],
  ['no resource', '{"action":"read"}'],
  ['an unknown field', '{"action":"read","resource":"a","maxcalls":1}'],
  ['a field called __proto__', '{"action":"read","resource":"a","__proto__":"x"}'],
  ['a list', '[]'],
  ['null', 'null'],
  ['arguments that are a list', '{"action":"read","resource":"a","arguments":[]}'],
  ['an escaped NUL', '{"action":"read","resource":"a\\u0000"}'],
  ['a lone surrogate', '{"action":"read","resource":"\\ud800"}'],
])('%s is passed to the schema', (_, json) => {
  expect(parseSimpleAuthorize(json, JSON.parse(json))).toBeUndefined();
});

test('the usual question is recognised', () => {
  const json =
    '{"agentId":"agt_1","action":"read","resource":"mcp:github:list_issues","arguments":{"repo":"octo/hello",' +
    '"page":1,"draft":false,"label":null}}';
  expect(parseSimpleAuthorize(json, JSON.parse(json))).toEqual(JSON.parse(json));
});
