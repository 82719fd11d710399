import { describe, expect, it } from 'vitest';
import { inputSchema, mutants } from '../support/mutants.ts';
import type { Answered } from '../support/service.ts';
import {
  bodyOf,
  endpoints,
  expectRefused,
  type HostileWorld,
  hostileScene,
  JSON_TYPE,
  parsed,
  send,
} from './hostile.scene.ts';

const { refused, shared } = hostileScene();

describe('a body that does not match its schema', () => {
  it.each(parsed)('%s', async (endpoint, { route }) => {
    await refused(endpoint, async (w) => {
      for (const { what, value, names } of mutants(inputSchema(route.body as never), bodyOf(endpoint, route, w))) {
        const raw = JSON.stringify(value);
        // A body that is too long for the endpoint is refused before it is read.
        const tooLarge = Buffer.byteLength(raw) > (route.bodyLimit ?? 1_048_576);
        expectRefused(what, await send(w, { raw, headers: JSON_TYPE }), [tooLarge ? 413 : 400], names);
      }
    });
  });
});

/** Requests of our own API that take no body. */
const withoutBody = endpoints.filter(
  ([, { route }]) => route.method !== 'GET' && route.body === undefined && route.errorBody === undefined,
);

describe('a body of a request that takes none', () => {
  it('is possible with DELETE only', () => {
    expect(withoutBody.length).toBeGreaterThan(20);
    expect(withoutBody.filter(([, { route }]) => route.method !== 'DELETE')).toEqual([]);
  });

  it.each(withoutBody)('%s', async (endpoint) => {
    await refused(endpoint, async (w) => {
      for (const [field, value] of [
        ['reason', 'because'],
        ['preview', true],
        ['__proto__', 1],
      ] as const)
        expectRefused(
          field,
          await send(w, { raw: JSON.stringify({ [field]: value }), headers: JSON_TYPE }),
          [400],
          field,
        );
      for (const raw of ['[]', 'null', '{', 'reason=because'])
        expectRefused(raw, await send(w, { raw, headers: JSON_TYPE }), [400], '');
      expectRefused('of no type', await send(w, { raw: '{"reason":"because"}' }), [400], 'reason');
    });
  });

  it.each(['', '{}', ' { } '])('is empty: %j', async (raw) => {
    const t = await shared();
    const owner = await t.user();
    const { id } = await t.agent(owner);
    for (const [path, method, status] of [
      ['/events/ticket', 'POST', 200],
      [`/agents/${id}`, 'DELETE', 204],
    ] as const)
      expect((await t.call(method, path, { as: owner, raw, headers: JSON_TYPE })).status).toBe(status);
    expect((await t.call('POST', '/events/ticket', { as: owner })).status).toBe(200);
  });
});

const manyKeys = (n: number): string => `{${Array.from({ length: n }, (_, i) => `"k${i}":1`).join()}}`;
const NOT_JSON: readonly (string | Uint8Array)[] = [
  '{',
  '}',
  '{"a":1,}',
  "{'a':1}",
  '{a:1}',
  '{"a":NaN}',
  '{"a":0x1}',
  '{"a":01}',
  '{"a":1}{"a":1}',
  '{"a":1}//',
  '\u0000',
  '{}\u0000',
  '"',
  'a=1&b=2',
  '<a/>',
  '{"a":"\n"}',
  '{"a":"\\x"}',
  '[',
  '['.repeat(100_000),
  '['.repeat(20_000) + ']'.repeat(20_000),
  `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
  '{"name":"x","name":"y"}',
  '{"name":"x","n\\u0061me":"y"}',
  '{"__proto__":1,"__proto__":2}',
  Uint8Array.of(0x7b, 0xff, 0x7d),
  // "a" as an overlong sequence, a surrogate and a truncated sequence.
  Uint8Array.of(0x22, 0xc1, 0xa1, 0x22),
  Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22),
  Uint8Array.of(0x22, 0xe2, 0x82, 0x22),
  Uint8Array.of(0x22, 0xf8, 0x88, 0x80, 0x80, 0x80, 0x22),
  Buffer.from('\ufeff{}', 'utf16le'),
];

describe('a body that is not JSON', () => {
  it.each(parsed)('%s', async (endpoint, { route }) => {
    await refused(endpoint, async (w) => {
      for (const raw of NOT_JSON) {
        const what = typeof raw === 'string' ? raw.slice(0, 30) : Buffer.from(raw).toString('hex');
        const tooLarge = raw.length > (route.bodyLimit ?? 1_048_576);
        expectRefused(what, await send(w, { raw, headers: JSON_TYPE }), [tooLarge ? 413 : 400], '');
      }
      if (!route.bodyOptional)
        for (const raw of ['', ' ', '\n'])
          expectRefused(`blank ${JSON.stringify(raw)}`, await send(w, { raw, headers: JSON_TYPE }), [400], '');
      expectRefused('5,000 unknown keys', await send(w, { raw: manyKeys(5000), headers: JSON_TYPE }), [400]);
      expectRefused('100,000 unknown keys', await send(w, { raw: manyKeys(100_000), headers: JSON_TYPE }), [413]);
    });
  });
});

describe('a body of another media type or size', () => {
  it.each(parsed)('%s', async (endpoint, { route }) => {
    await refused(endpoint, async (w) => {
      const raw = JSON.stringify(bodyOf(endpoint, route, w));
      const types = [
        'text/plain',
        'text/json',
        'application/json5',
        'application/jsonx',
        'application/ld+json',
        'multipart/form-data; boundary=x',
        'application/octet-stream',
        '*/*',
        '',
      ];
      for (const type of types)
        expectRefused(`as ${type}`, await send(w, { raw, headers: { 'content-type': type } }), [415]);
      if (!route.form)
        expectRefused(
          'as a form',
          await send(w, { raw, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
          [415],
        );
      expectRefused('of no type', await send(w, { raw: Buffer.from(raw) }), [415]);
      for (const coding of ['gzip', 'br', 'deflate', 'identity, gzip'])
        expectRefused(coding, await send(w, { raw, headers: { ...JSON_TYPE, 'content-encoding': coding } }), [415]);
      const limit = route.bodyLimit ?? 1_048_576;
      const large = JSON.stringify({ a: 'x'.repeat(limit) });
      expectRefused('too large', await send(w, { raw: large, headers: JSON_TYPE }), [413]);
      expectRefused(
        'too large, and stated',
        await send(w, { raw: '{}', headers: { ...JSON_TYPE, 'content-length': String(limit + 1) } }),
        [413],
      );
      expectRefused('too large, in pieces', await chunk(w, limit), [413]);
    });
  });
});

/** The body never ends, so the service has to stop reading by itself. */
async function chunk(w: HostileWorld, limit: number): Promise<Answered> {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      sent += 16_384;
      expect(sent).toBeLessThan(limit + 1_000_000);
      controller.enqueue(Buffer.alloc(16_384, 0x20));
    },
  });
  const init = {
    method: w.method,
    headers: { ...JSON_TYPE, authorization: `Bearer ${w.admin.token}` },
    body,
    duplex: 'half',
  };
  const response = await w.t.legate.fetch(new Request(`http://localhost:3000${w.path}`, init as RequestInit));
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}
