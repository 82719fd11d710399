import { describe, expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';

describe('POST /tenants', () => {
  it('201 with a given slug', async () => {
    const t = await createTestService();
    const r = await t.call('POST', '/tenants', { as: await t.admin(), body: { name: 'Acme', slug: 'acme-1' } });
    expect(r.status).toBe(201);
    expect(r.body).toEqual({
      id: expect.stringMatching(/^tnt_[0-9a-z]{26}$/),
      name: 'Acme',
      slug: 'acme-1',
      createdAt: '2030-01-15T10:10:00.000Z',
    });
  });

  it.each([
    ['Große Firma, Inc.', /^grosse-firma-inc$/],
    ['Crème Brûlée', /^creme-brulee$/],
    ['株式会社', /^tenant-[0-9a-z]{10}$/],
    ['x'.repeat(200), /^x{52}$/],
  ])('201: derives the slug of %j from the name', async (name, slug) => {
    const t = await createTestService();
    expect((await t.call('POST', '/tenants', { as: await t.admin(), body: { name } })).body.slug).toMatch(slug);
  });

  it('201: derived slugs are unique for equal names, also for 20 concurrent requests', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const all = await Promise.all(
      Array.from({ length: 20 }, () => t.call('POST', '/tenants', { as: admin, body: { name: 'Acme' } })),
    );
    expect(new Set(all.map((r) => r.body.slug)).size).toBe(20);
  });

  it.each([
    [{}],
    [{ name: '' }],
    [{ name: 'a\u0000' }],
    [{ name: 'a', slug: 'A' }],
    [{ name: 'a', slug: '-a' }],
    [{ name: 'a', slug: 'a--b' }],
    [{ name: 'a', slug: 'x'.repeat(64) }],
    [{ name: 'a', id: 'tnt_x' }],
  ])('400: %j', async (body) => {
    const t = await createTestService();
    const r = await t.call('POST', '/tenants', { as: await t.admin(), body });
    expect([r.status, r.body.error.code]).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('401 and 403', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const statuses = [];
    for (const as of [undefined, alice, await t.agent(alice)])
      for (const [method, path] of [
        ['POST', '/tenants'],
        ['GET', '/tenants'],
        ['GET', '/tenants/x'],
        ['PATCH', '/tenants/x'],
        ['DELETE', '/tenants/x'],
      ] as const) {
        const body = method === 'POST' || method === 'PATCH' ? { name: 'x' } : undefined;
        statuses.push((await t.call(method, path, { as, body })).status);
      }
    expect(statuses).toEqual([...Array(5).fill(401), ...Array(10).fill(403)]);
  });

  it('422 for a slug in use; exactly one of 10 concurrent requests gets it', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const all = await Promise.all(
      Array.from({ length: 10 }, () => t.call('POST', '/tenants', { as: admin, body: { name: 'Acme', slug: 'acme' } })),
    );
    expect(all.map((r) => r.status).sort()).toEqual([201, ...Array(9).fill(422)]);
    expect(all.find((r) => r.status === 422)?.body.error.code).toBe('SLUG_IN_USE');
  });
});

describe('GET /tenants', () => {
  it('200, oldest first, in pages', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const made = [];
    for (const name of ['a', 'b', 'c']) {
      made.push((await t.call('POST', '/tenants', { as: admin, body: { name } })).body);
      t.clock.advance(1);
    }
    expect((await t.call('GET', '/tenants', { as: admin })).body).toEqual(made);
    const first = await t.call('GET', '/tenants?limit=2', { as: admin });
    expect(first.body).toEqual(made.slice(0, 2));
    const next = /^<(.*)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    const second = await t.call('GET', next, { as: admin });
    expect(second.body).toEqual(made.slice(2));
    expect(second.headers.get('link')).toBeNull();
  });
});

describe('GET /tenants/:id', () => {
  it('200 and 404', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const tenant = (await t.call('POST', '/tenants', { as: admin, body: { name: 'Acme' } })).body;
    expect((await t.call('GET', `/tenants/${tenant.id}`, { as: admin })).body).toEqual(tenant);
    for (const id of ['tnt_00000000000000000000000000', 'x', '%00']) {
      const r = await t.call('GET', `/tenants/${id}`, { as: admin });
      expect([r.status, r.body.error.code]).toEqual([404, 'TENANT_NOT_FOUND']);
    }
  });
});

describe('PATCH /tenants/:id', () => {
  it('200: changes name and slug, with an event that has both; equal values change nothing', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const { id, ...before } = (await t.call('POST', '/tenants', { as: admin, body: { name: 'Acme' } })).body;
    const r = await t.call('PATCH', `/tenants/${id}`, { as: admin, body: { name: 'Ajax', slug: 'ajax' } });
    expect([r.status, r.body]).toEqual([200, { ...before, id, name: 'Ajax', slug: 'ajax' }]);
    await t.call('PATCH', `/tenants/${id}`, { as: admin, body: { name: 'Ajax', slug: 'ajax' } });
    const changes = await t.call('GET', `/changes?subject=${id}&type=tenant.updated`, { as: admin });
    expect(changes.body).toMatchObject([
      { data: { tenantId: id, name: 'Ajax' }, before: { name: 'Acme', slug: 'acme' }, after: { name: 'Ajax' } },
    ]);
  });

  it('400, 404, 412 and 422', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const { id } = (await t.call('POST', '/tenants', { as: admin, body: { name: 'Acme' } })).body;
    await t.call('POST', '/tenants', { as: admin, body: { name: 'Taken' } });
    const shown = await t.call('GET', `/tenants/${id}`, { as: admin });
    const headers = { 'if-match': shown.headers.get('etag') as string };
    const answers = [];
    for (const [path, body, more] of [
      [id, { slug: 'No' }, {}],
      [id, { createdAt: 'x' }, {}],
      ['tnt_00000000000000000000000000', { name: 'x' }, {}],
      [id, { slug: 'taken' }, {}],
      [id, { name: 'First' }, headers],
      [id, { name: 'Second' }, headers],
    ] as const) {
      const { status, body: answer } = await t.call('PATCH', `/tenants/${path}`, { as: admin, body, headers: more });
      answers.push([status, answer.error?.code]);
    }
    expect(answers).toEqual([
      [400, 'VALIDATION_FAILED'],
      [400, 'VALIDATION_FAILED'],
      [404, 'TENANT_NOT_FOUND'],
      [422, 'SLUG_IN_USE'],
      [200, undefined],
      [412, 'PRECONDITION_FAILED'],
    ]);
  });
});

describe('DELETE /tenants/:id', () => {
  it('409 while somebody belongs to it or is invited, 204 afterwards, then 404', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const { id } = (await t.call('POST', '/tenants', { as: admin, body: { name: 'Acme' } })).body;
    const remove = async (): Promise<unknown[]> => {
      const { status, body } = await t.call('DELETE', `/tenants/${id}`, { as: admin });
      return [status, body?.error?.code];
    };
    const user = await t.user();
    await t.call('PATCH', `/users/${user.id}`, { as: admin, body: { tenantId: id } });
    const invited = await t.call('POST', '/invites', {
      as: admin,
      body: { email: 'new@example.com', role: 'user', tenantId: id },
    });
    expect(invited.status).toBe(201);
    expect(await remove()).toEqual([409, 'TENANT_IN_USE']);
    await t.call('PATCH', `/users/${user.id}`, { as: admin, body: { tenantId: null } });
    expect(await remove()).toEqual([409, 'TENANT_IN_USE']);
    await t.call('DELETE', `/invites/${invited.body.id}`, { as: admin });
    expect(await remove()).toEqual([204, undefined]);
    expect(await remove()).toEqual([404, 'TENANT_NOT_FOUND']);
    expect((await t.call('GET', `/changes?subject=${id}&type=tenant.deleted`, { as: admin })).body).toHaveLength(1);
  });

  it('never leaves a user in a deleted tenant, however the two changes interleave', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    for (let round = 0; round < 5; round++) {
      const { id } = (await t.call('POST', '/tenants', { as: admin, body: { name: 'Acme' } })).body;
      const user = await t.user();
      const [joined, removed] = await Promise.all([
        t.call('PATCH', `/users/${user.id}`, { as: admin, body: { tenantId: id } }),
        t.call('DELETE', `/tenants/${id}`, { as: admin }),
      ]);
      expect([
        [200, 409],
        [422, 204],
      ]).toContainEqual([joined.status, removed.status]);
    }
  });
});
