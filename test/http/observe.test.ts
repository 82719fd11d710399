import { expect, it } from 'vitest';
import { observed } from '../support/observe.ts';
import { createTestService } from '../support/service.ts';

let service: ReturnType<typeof createTestService> | undefined;

const json = (status: number, body: unknown): Response => Response.json(body, { status });
const error = (code: string, more: object = {}) => ({ error: { code, message: 'm', ...more } });
const tenant = { id: 'tnt_1', name: 'n', slug: 's', createdAt: '2030-01-01T00:00:00.000Z' };

it.each([
  ['an answer as declared', 'GET', '/tenants/tnt_1', json(200, tenant), undefined],
  ['an error of the route', 'GET', '/tenants/tnt_1', json(404, error('TENANT_NOT_FOUND')), undefined],
  ['a common error', 'GET', '/tenants/tnt_1', json(401, error('UNAUTHORIZED')), undefined],
  ['a status that is not declared', 'GET', '/tenants/tnt_1', json(201, tenant), 'not declared'],
  ['a field too many', 'GET', '/tenants/tnt_1', json(200, { ...tenant, secret: 1 }), 'not declared'],
  ['a field too few', 'GET', '/tenants/tnt_1', json(200, { ...tenant, slug: undefined }), 'does not fit'],
  ["another route's error", 'GET', '/tenants/tnt_1', json(404, error('USER_NOT_FOUND')), 'not declared by the route'],
  [
    'a code with another status',
    'GET',
    '/tenants/tnt_1',
    json(410, error('TENANT_NOT_FOUND')),
    'not declared by the route',
  ],
  [
    'an error with a field of its own',
    'GET',
    '/tenants/tnt_1',
    json(404, error('TENANT_NOT_FOUND', { stack: 's' })),
    'an error has stack',
  ],
  [
    'an error that is a page',
    'GET',
    '/tenants/tnt_1',
    new Response('<p>', { status: 404, headers: { 'content-type': 'text/html' } }),
    'answers text/html',
  ],
  ['a plain text', 'POST', '/sign-out', new Response('x', { status: 200 }), 'answers text/plain'],
  ['one of the declared media types', 'GET', '/audit/export', json(200, []), undefined],
  [
    'a media type that is not declared',
    'GET',
    '/audit/export',
    new Response('x', { headers: { 'content-type': 'text/plain' } }),
    'not declared',
  ],
])('reports %s', async (_, method, path, answer, problem) => {
  service ??= createTestService({ lasting: true });
  const t = await service;
  const told: string[] = [];
  await observed({ ...t.legate, fetch: async () => answer }, (p) => told.push(p))(
    new Request(`http://localhost:3000${path}`, { method }),
  );
  if (problem === undefined) expect(told).toEqual([]);
  else expect(told.join()).toContain(problem);
});
