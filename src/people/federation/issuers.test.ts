import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';

let t: TestService;
let admin: TestUser;
const configured = { name: 'configured', issuer: 'https://configured.example', uses: ['workload' as const] };
beforeAll(async () => {
  t = await createTestService({ lasting: true, config: { issuers: [configured] } });
  admin = await t.admin();
});

let count = 0;
const fresh = (more: Json = {}) => {
  const name = `issuer-${++count}`;
  return { name, issuer: `https://${name}.example`, uses: ['workload'], ...more };
};
const post = (body: Json) => t.call('POST', '/issuers', { as: admin, body });

describe('issuers', () => {
  it('are registered, read, changed and deleted', async () => {
    const body = fresh({ audience: 'x', jwksUri: 'https://keys.example/jwks' });
    const made = await post(body);
    expect(made.status).toBe(201);
    const { id } = made.body;
    expect(id).toMatch(/^iss_[0-9a-z]{26}$/);
    expect(made.body).toMatchObject({ ...body, algorithms: ['RS256', 'ES256'], source: 'api' });
    expect((await t.call('GET', `/issuers/${id}`, { as: admin })).body).toEqual(made.body);
    const changed = await t.call('PATCH', `/issuers/${id}`, {
      as: admin,
      body: { audience: null, jwksUri: null, algorithms: ['EdDSA'] },
    });
    expect([changed.status, changed.body.algorithms, changed.body.audience, changed.body.jwksUri]).toEqual([
      200,
      ['EdDSA'],
      undefined,
      undefined,
    ]);
    expect((await t.call('DELETE', `/issuers/${id}`, { as: admin })).status).toBe(204);
    for (const method of ['GET', 'DELETE'])
      expect((await t.call(method, `/issuers/${id}`, { as: admin })).body.error.code).toBe('ISSUER_NOT_FOUND');
  });

  it('of the configuration are listed first, and the API does not change them', async () => {
    const listed = (await t.call('GET', '/issuers', { as: admin })).body;
    expect(listed[0]).toEqual({
      ...configured,
      id: expect.stringMatching(/^iss_[0-9a-z]{26}$/),
      algorithms: ['RS256', 'ES256'],
      source: 'configuration',
    });
    const path = `/issuers/${listed[0].id}`;
    expect((await t.call('GET', path, { as: admin })).body).toEqual(listed[0]);
    for (const [method, body] of [
      ['PATCH', { algorithms: ['EdDSA'] }],
      ['DELETE', undefined],
    ] as const) {
      const r = await t.call(method, path, { as: admin, ...(body ? { body } : {}) });
      expect([r.status, r.body.error.code]).toEqual([409, 'ISSUER_CONFIGURED']);
    }
    expect((await post(fresh({ issuer: configured.issuer }))).body.error.code).toBe('ISSUER_IN_USE');
  });

  it('have unique names and addresses, even if they are registered concurrently', async () => {
    const body = fresh();
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, i) => post(i % 2 ? body : { ...body, name: `${body.name}-${i}` })),
    );
    expect(answers.map((r) => r.status).sort()).toEqual([201, 422, 422, 422, 422]);
    const other = await post(fresh());
    const named = await t.call('PATCH', `/issuers/${other.body.id}`, { as: admin, body: { name: configured.name } });
    expect([named.status, named.body.error.details.path]).toEqual([422, 'name']);
  });

  it('that one of the configuration replaces keep their name and address for themselves', async () => {
    const [byName, byAddress] = [fresh(), fresh()];
    for (const body of [byName, byAddress]) expect((await post(body)).status).toBe(201);
    const own = await createTestService({
      sameDatabaseAs: t,
      config: {
        issuers: [
          { ...configured, name: byName.name },
          { ...configured, name: 'moved', issuer: byAddress.issuer },
        ],
      },
    });
    const add = async (body: Json) => {
      const { status, body: answer } = await own.call('POST', '/issuers', { as: admin, body });
      return [status, answer.error?.details?.path];
    };
    expect(await add(fresh({ issuer: byName.issuer }))).toEqual([422, 'issuer']);
    expect(await add(fresh({ name: byAddress.name }))).toEqual([422, 'name']);
    const made = await own.call('POST', '/issuers', { as: admin, body: fresh() });
    const renamed = await own.call('PATCH', `/issuers/${made.body.id}`, { as: admin, body: { name: byAddress.name } });
    expect([renamed.status, renamed.body.error.details?.path]).toEqual([422, 'name']);
  });

  it('can be changed although the configuration has brought their number above the maximum', async () => {
    const { id } = (await post(fresh())).body;
    const issuers = Array.from({ length: 100 }, (_, i) => ({
      ...configured,
      name: `configured-${i}`,
      issuer: `https://configured-${i}.example`,
    }));
    const own = await createTestService({ sameDatabaseAs: t, config: { issuers } });
    const added = await own.call('POST', '/issuers', { as: admin, body: fresh() });
    expect([added.status, added.body.error.code]).toEqual([422, 'ISSUER_LIMIT_EXCEEDED']);
    const changed = await own.call('PATCH', `/issuers/${id}`, { as: admin, body: { uses: ['enterprise'] } });
    expect([changed.status, changed.body.uses]).toEqual([200, ['enterprise']]);
  });

  it.each<[string, Json]>([
    ['a shared secret', { algorithms: ['HS256'] }],
    ['no signature', { algorithms: ['none'] }],
    ['an unknown use', { uses: ['anything'] }],
    ['no use', { uses: [] }],
    ['an address with a user name', { issuer: 'https://user@issuer.example' }],
    ['an address with a query', { issuer: 'https://issuer.example?a=b' }],
    ['another scheme', { jwksUri: 'file:///etc/passwd' }],
    ['a name that is not a path segment', { name: 'a/b' }],
  ])('with %s are refused', async (_what, more) => {
    expect((await post(fresh(more))).body.error.code).toBe('VALIDATION_FAILED');
  });

  it('have https addresses, unless federation.allowPrivateNetworks is on', async () => {
    const open = await createTestService({ config: { federation: { allowPrivateNetworks: true } } });
    const ofOpen = await open.admin();
    for (const path of ['issuer', 'jwksUri']) {
      const body = fresh({ [path]: 'http://issuer.example' });
      const refused = await post(body);
      expect([refused.status, refused.body.error?.details.issues]).toEqual([
        400,
        [{ path, message: 'must be an https address' }],
      ]);
      expect((await open.call('POST', '/issuers', { as: ofOpen, body })).status).toBe(201);
    }
    const { id } = (await post(fresh())).body;
    const change = { jwksUri: 'http://issuer.example/jwks' };
    const refused = await t.call('PATCH', `/issuers/${id}`, { as: admin, body: change });
    expect(refused.body.error?.details.issues).toEqual([{ path: 'jwksUri', message: 'must be an https address' }]);
  });
});
