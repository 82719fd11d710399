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
      ] as const)
        statuses.push((await t.call(method, path, { as, body: method === 'POST' ? { name: 'x' } : undefined })).status);
    expect(statuses).toEqual([401, 401, 401, 403, 403, 403, 403, 403, 403]);
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
