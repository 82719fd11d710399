import { describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../support/service.ts';
import { injections, texts } from './hostile.cases.ts';

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> => (service ??= createTestService({ lasting: true }));

const all = [...texts, ...injections];

/** A text of JSON instead of an object, so that `__proto__` is an ordinary member and numbers keep their notation. */
const raw = (body: string) => ({ raw: body, headers: { 'content-type': 'application/json' } });

const ODD = [
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"a":{"__proto__":{"polluted":1},"b":[{"__proto__":null}]}}',
  '{"hasOwnProperty":1,"toString":2,"valueOf":3,"toJSON":4,"then":5,"length":6}',
  '{"":1," ":2,"a.b":3,"0":4}',
  '{"n":[0.1,-1.5,1e-7,1e21,5e-324,1.7976931348623157e+308,9007199254740991]}',
  '{"null":null,"true":true,"empty":[[],{},""]}',
  JSON.stringify(Object.fromEntries(texts.map((text) => [text, text]))),
];

/** Each text is compared wherever it is shown. */
describe('a text is returned unchanged', () => {
  it.each(all)('%j', async (text) => {
    const t = await shared();
    const alice = await t.user();
    const admin = await t.admin();

    const agent = await t.agent(alice, { name: text, metadata: { [`k${text}`]: text, in: [text] } });
    expect([agent.body.name, agent.body.metadata]).toEqual([text, { [`k${text}`]: text, in: [text] }]);
    const { token: _, ...shown } = agent.body;
    expect((await t.call('GET', `/agents/${agent.id}`, { as: alice })).body).toEqual(shown);
    expect((await t.call('PATCH', `/agents/${agent.id}`, { as: alice, body: { name: `${text}2` } })).body.name).toBe(
      `${text}2`,
    );

    const tenant = await t.call('POST', '/tenants', { as: admin, body: { name: text, slug: `x${all.indexOf(text)}` } });
    expect((await t.call('GET', `/tenants/${tenant.body.id}`, { as: admin })).body.name).toBe(text);
    await t.call('POST', '/api-tokens', { as: alice, body: { name: text } });
    expect(
      (await t.call('GET', '/api-tokens', { as: alice })).body.map((token: { name: string }) => token.name),
    ).toContain(text);
    expect((await t.call('PATCH', `/users/${alice.id}`, { as: admin, body: { name: text } })).body.name).toBe(text);

    // Values whose keys look like names of tokens or passwords would be redacted.
    const args = { path: text, [/token|passw/.test(text) ? 'k' : `k${text}`]: [text] };
    const asked = await t.authorize(alice, { agentId: agent.id, action: text, resource: text, arguments: args });
    expect(asked.status).toBe(200);
    const entry = (await t.call('GET', `/audit/${asked.body.auditId}`, { as: alice })).body;
    expect(entry).toMatchObject({ action: text, resource: text });
    expect(entry.parameters).toEqual(args);
    if (!text.includes(',') && text === text.trim()) {
      const found = await t.call('GET', `/audit?actions=${encodeURIComponent(text)}`, { as: alice });
      expect(found.body.map((e: { id: string }) => e.id)).toEqual([asked.body.auditId]);
    }
  });
});

describe('an unusual object is returned unchanged', () => {
  const agentWith = async (t: TestService, json: string) => {
    const owner = await t.user();
    return {
      owner,
      made: await t.call('POST', '/agents', {
        as: owner,
        ...raw(`{"ownerId":"${owner.id}","name":"n","type":"service","metadata":${json}}`),
      }),
    };
  };

  it.each(ODD)('%s', async (json) => {
    const t = await shared();
    const { owner, made } = await agentWith(t, json);
    expect(made.status).toBe(201);
    const metadataIn = (text: string): string =>
      JSON.stringify(Object.entries(JSON.parse(text)).find(([key]) => key === 'metadata')?.[1]);
    expect(sorted(metadataIn(made.text))).toBe(sorted(json));
    expect(sorted(metadataIn((await t.call('GET', `/agents/${made.body.id}`, { as: owner })).text))).toBe(sorted(json));

    const asked = await t.call('POST', '/authorize', {
      as: owner,
      ...raw(`{"agentId":"${made.body.id}","action":"a","resource":"r","arguments":${json}}`),
    });
    expect(asked.status).toBe(200);
    const entry = await t.call('GET', `/audit/${asked.body.auditId}`, { as: owner });
    expect(
      sorted(JSON.stringify(Object.entries(JSON.parse(entry.text)).find(([key]) => key === 'parameters')?.[1])),
    ).toBe(sorted(json));
    const exported = await t.call('GET', '/audit/export?format=json', { as: owner });
    expect(sorted(JSON.stringify(exported.body[0].parameters))).toBe(sorted(json));
    expect({}).not.toHaveProperty('polluted');
  });

  it.each([
    ['-0', '0'],
    ['9007199254740993', '9007199254740992'],
    ['1E400', undefined],
    ['-1e999', undefined],
    ['123456789012345678901234567890', '1.2345678901234568e+29'],
  ])('the number %s is returned as %s', async (number, kept) => {
    const t = await shared();
    const { owner, made } = await agentWith(t, `{"n":${number}}`);
    const asked = await t.call('POST', '/authorize', {
      as: owner,
      ...raw(`{"agentId":"${(await t.agent(owner)).id}","action":"a","resource":"r","arguments":{"n":${number}}}`),
    });
    if (kept === undefined) {
      expect([made.status, made.body.error.details.issues[0].path]).toEqual([400, 'metadata.n']);
      expect([asked.status, asked.body.error.details.issues[0].path]).toEqual([400, 'arguments.n']);
      return;
    }
    expect(JSON.stringify(made.body.metadata)).toBe(`{"n":${kept}}`);
    expect((await t.call('GET', `/agents/${made.body.id}`, { as: owner })).text).toContain(`{"n":${kept}}`);
    expect((await t.call('GET', `/audit/${asked.body.auditId}`, { as: owner })).text).toContain(`{"n":${kept}}`);
  });

  it.each(['{"k":"\\ud800"}', '{"\\udc00":1}', '{"a":[{"b":"\\ude00\\ud83d"}]}'])('refused: %s', async (json) => {
    const t = await shared();
    const { owner, made } = await agentWith(t, json);
    expect(made.status).toBe(400);
    const agent = await t.agent(owner);
    const asked = await t.call('POST', '/authorize', {
      as: owner,
      ...raw(`{"agentId":"${agent.id}","action":"a","resource":"r","arguments":${json}}`),
    });
    expect(asked.status).toBe(400);
    expect((await t.call('GET', '/audit', { as: owner })).body).toEqual([]);
  });

  it('NUL in free-form JSON is kept', async () => {
    const t = await shared();
    const { owner, made } = await agentWith(t, '{"k\\u0000":"a\\u0000b"}');
    expect(made.status).toBe(201);
    expect((await t.call('GET', `/agents/${made.body.id}`, { as: owner })).body.metadata).toEqual({
      'k\u0000': 'a\u0000b',
    });
    const asked = await t.call('POST', '/authorize', {
      as: owner,
      ...raw(`{"agentId":"${made.body.id}","action":"a","resource":"r","arguments":{"k":"a\\u0000b"}}`),
    });
    expect((await t.call('GET', `/audit/${asked.body.auditId}`, { as: owner })).body.parameters).toEqual({
      k: 'a\u0000b',
    });
  });
});

/**
 * Serialises JSON with the members of each object in order. JSON.parse cannot be used, because `__proto__` has to stay
 * a member.
 */
function sorted(json: string): string {
  const write = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(write).join()}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    return `{${Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => `${JSON.stringify(key)}:${write(item)}`)
      .join()}}`;
  };
  return write(JSON.parse(json));
}
