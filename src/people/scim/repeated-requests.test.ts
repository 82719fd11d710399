import { beforeAll, describe, expect, it } from 'vitest';
import { scimClient } from '../../../test/support/scim.ts';
import type { Json, TestService } from '../../../test/support/service.ts';

const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';
const { service, scim, name, mark, listed } = scimClient();
let t: TestService;
beforeAll(() => {
  t = service();
});

const create = (path: string, body: Json, key: string) => scim('POST', path, body, { 'idempotency-key': key });

const KINDS = [
  ['/Users', () => ({ userName: name() }), 'userName', 'user.created'],
  ['/Groups', () => ({ displayName: mark('Repeated') }), 'displayName', 'group.created'],
] as const;

describe.each(KINDS)('POST %s with an Idempotency-Key', (path, body, nameOf, type) => {
  const found = async (given: Json): Promise<number> =>
    (await listed(`${nameOf} eq "${given[nameOf]}"`, path.slice(1))).totalResults;

  it('gets the same answer when it is sent again, and creates one resource with one event', async () => {
    const given = body();
    const key = mark('key');
    const first = await create(path, given, key);
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null]);
    const again = await create(path, given, key);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    for (const header of ['content-type', 'etag', 'location'])
      expect([header, again.headers.get(header)]).toEqual([header, first.headers.get(header)]);
    expect(await found(given)).toBe(1);
    const events = (await t.call('GET', `/changes?type=${type}&limit=1000`, { as: await t.admin() })).body;
    expect(events.filter((e: Json) => Object.values(e.data).includes(first.body.id))).toHaveLength(1);
    const without = await scim('POST', path, given);
    expect([without.status, without.body.scimType]).toEqual([409, 'uniqueness']);
  });

  it('is 422 with another body, and 400 with a key that is too long, in the format of SCIM', async () => {
    const key = mark('key');
    expect((await create(path, body(), key)).status).toBe(201);
    const other = body();
    for (const [r, status] of [
      [await create(path, other, key), 422],
      [await create(path, other, 'k'.repeat(256)), 400],
    ] as const) {
      expect([r.status, r.headers.get('content-type')]).toEqual([status, 'application/scim+json']);
      expect(r.body).toMatchObject({ schemas: [ERROR], status: String(status), detail: expect.any(String) });
    }
    expect(await found(other)).toBe(0);
  });

  it('gets the same refusal again, in the format of SCIM', async () => {
    const key = mark('key');
    const wrong = { [nameOf]: 5 };
    const first = await create(path, wrong, key);
    expect([first.status, first.body.scimType]).toEqual([400, 'invalidValue']);
    const again = await create(path, wrong, key);
    expect([again.status, again.text, again.headers.get('content-type')]).toEqual([
      400,
      first.text,
      'application/scim+json',
    ]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('has one effect when it is sent many times at once', async () => {
    const given = body();
    const key = mark('key');
    const all = await Promise.all(Array.from({ length: 20 }, () => create(path, given, key)));
    const made = all.filter(({ status }) => status === 201);
    expect(new Set(made.map(({ text }) => text)).size).toBe(1);
    expect(made.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    for (const r of all.filter(({ status }) => status !== 201))
      expect([r.status, r.headers.get('retry-after'), r.body.schemas]).toEqual([409, '1', [ERROR]]);
    expect(await found(given)).toBe(1);
  });
});
