import { beforeAll, describe, expect, it } from 'vitest';
import { scimClient } from '../../../test/support/scim.ts';
import { createTestService, type TestService } from '../../../test/support/service.ts';

const client = scimClient();
const { created, listed, patch, scim, tenantToken } = client;
let t: TestService;
beforeAll(() => {
  t = client.service();
});

describe('SCIM groups', () => {
  it('[RFC 7644 3.5.2] groups give role and tenant, and remove them again', async () => {
    const tenant = await t.call('POST', '/tenants', { as: await t.admin(), body: { name: 'Acme', slug: 'acme' } });
    const user = await created();
    const account = async () => {
      const { role, tenantId } = (await t.call('GET', `/users/${user.id}`, { as: await t.admin() })).body;
      return [role, tenantId];
    };
    const admins = (await scim('POST', '/Groups', { displayName: 'Legate admins' })).body;
    const staff = (await scim('POST', '/Groups', { displayName: 'acme staff', members: [{ value: user.id }] })).body;
    expect(await account()).toEqual(['user', tenant.body.id]);
    const add = await patch(`/Groups/${admins.id}`, { op: 'Add', path: 'members', value: [{ value: user.id }] });
    expect(add.body.members).toEqual([{ value: user.id, type: 'User' }]);
    expect(await account()).toEqual(['admin', tenant.body.id]);
    expect((await scim('GET', `/Users/${user.id}`)).body.groups).toHaveLength(2);
    expect((await listed(`members eq "${user.id}"`, 'Groups')).totalResults).toBe(2);
    await patch(`/Groups/${admins.id}`, { op: 'remove', path: `members[value eq "${user.id}"]` });
    expect(await account()).toEqual(['user', tenant.body.id]);
    await patch(`/Groups/${admins.id}`, { op: 'add', path: 'members', value: [{ value: user.id }] });
    // Entra ID names the members to remove in the value.
    await patch(`/Groups/${admins.id}`, { op: 'Remove', path: 'members', value: [{ value: user.id }] });
    expect(await account()).toEqual(['user', tenant.body.id]);
    expect((await scim('DELETE', `/Groups/${staff.id}`)).status).toBe(204);
    expect(await account()).toEqual(['user', null]);
    // Okta renames a group by a value that repeats the id.
    const renamed = await patch(`/Groups/${admins.id}`, {
      op: 'replace',
      value: { id: admins.id, displayName: 'Others' },
    });
    expect([renamed.status, renamed.body.displayName]).toEqual([200, 'Others']);
    expect((await scim('POST', '/Groups', { displayName: 'OTHERS' })).body.scimType).toBe('uniqueness');
  });
});

describe('the configuration of groups', () => {
  const serve = async (...scimGroups: string[]) => {
    const own = await createTestService({ config: { users: { scimGroups } } });
    const admin = await own.admin();
    const send = async (method: string, path: string, body: object) => {
      const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/scim+json' };
      const r = await own.call(method, `/scim/v2${path}`, { headers, raw: JSON.stringify(body) });
      expect([path, r.status, r.text]).toEqual([path, method === 'POST' ? 201 : 200, expect.any(String)]);
      return r.body;
    };
    return { own, admin, send };
  };
  const members = (...users: { id: string }[]) => users.map(({ id }) => ({ value: id }));

  it('a group passes the role of the last administrator on, whichever of the two is older', async () => {
    const { own, admin, send } = await serve('Heads=role:admin');
    const next = await send('POST', '/Users', { userName: 'next@example.com' });
    const group = await send('POST', '/Groups', { displayName: 'Heads', members: members(admin) });
    await send('PUT', `/Groups/${group.id}`, { displayName: 'Heads', members: members(next) });
    const roles = [(await own.legate.users.get(admin.id)).role, (await own.legate.users.get(next.id)).role];
    expect(roles).toEqual(['user', 'admin']);
  });

  it('a tenant that does not exist is ignored, also in front of one that does', async () => {
    const { own, admin, send } = await serve('Former staff=tenant:former', 'Staff=tenant:acme');
    const tenant = await own.call('POST', '/tenants', { as: admin, body: { name: 'Acme', slug: 'acme' } });
    const user = await send('POST', '/Users', { userName: 'both@example.com' });
    for (const displayName of ['Former staff', 'Staff'])
      await send('POST', '/Groups', { displayName, members: members(user) });
    expect((await own.legate.users.get(user.id)).tenantId).toBe(tenant.body.id);
  });
});

it('a group can have 10,000 members, and only added and removed members are recorded', async () => {
  const { database } = t.legate.platform;
  const template = await database.read
    .selectFrom('users')
    .selectAll()
    .where('id', '=', (await t.user()).id as never)
    .executeTakeFirstOrThrow();
  const ids = Array.from({ length: 10_000 }, (_, i) => `usr_01J000000000000000000${String(i).padStart(5, '0')}`);
  for (let at = 0; at < ids.length; at += 1000)
    await database.write
      .insertInto('users')
      .values(
        ids.slice(at, at + 1000).map((id) => ({
          ...template,
          id: id as never,
          email: `${id}@big.example`,
          email_key: `${id.toLowerCase()}@big.example`,
        })),
      )
      .execute();
  const display = 'A name that makes the request longer than other requests may be'.repeat(2);
  const members = ids.map((value) => ({ value, display, type: 'User' }));
  const group = await scim('POST', '/Groups', { displayName: 'Everybody', members });
  expect([group.status, group.body.members.length]).toEqual([201, 10_000]);
  const path = `/Groups/${group.body.id}`;
  const left = await patch(path, { op: 'remove', path: 'members', value: [{ value: ids[7] }] });
  expect([left.status, left.body.members.length]).toEqual([200, 9_999]);
  const [event] = (await t.call('GET', '/changes?type=group.updated&limit=1', { as: await t.admin() })).body;
  expect([event.before.members, event.after.members]).toEqual([[ids[7]], []]);
  const more = await patch(path, { op: 'add', path: 'members', value: members });
  expect([more.status, more.body.members.length]).toEqual([200, 10_000]);
  expect((await scim('DELETE', path)).status).toBe(204);
});

describe('a token of a tenant', () => {
  it('sees no users of another tenant, and creates users in its own', async () => {
    const a = await tenantToken();
    const b = await tenantToken();
    const mine = await created({}, a.as);
    expect((await t.call('GET', `/users/${mine.id}`, { as: await t.admin() })).body).toMatchObject({
      tenantId: a.tenantId,
      emailVerified: false,
    });
    expect((await listed(`userName eq "${mine.userName}"`, 'Users', b.as)).totalResults).toBe(0);
    expect((await listed('active eq true or active eq false', 'Users', b.as)).totalResults).toBe(1);
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', { userName: mine.userName }],
      ['PATCH', { Operations: [{ op: 'replace', path: 'active', value: false }] }],
      ['DELETE', undefined],
    ] as const)
      expect([method, (await scim(method, `/Users/${mine.id}`, body, {}, b.as)).status]).toEqual([method, 404]);
    const group = (await scim('POST', '/Groups', { displayName: 'Staff', members: [{ value: mine.id }] }, {}, a.as))
      .body;
    expect((await scim('GET', `/Groups/${group.id}`, undefined, {}, b.as)).status).toBe(404);
    expect((await scim('GET', `/Groups/${group.id}`)).status).toBe(404);
    const foreign = await scim('POST', '/Groups', { displayName: 'Staff', members: [{ value: mine.id }] }, {}, b.as);
    expect([foreign.status, foreign.body.scimType]).toEqual([400, 'invalidValue']);
  });

  it('does not see members of its groups who moved to another tenant', async () => {
    const a = await tenantToken();
    const [stays, moves] = [await created({}, a.as), await created({ displayName: 'Secret name' }, a.as)];
    const members = [{ value: stays.id }, { value: moves.id }];
    const group = (await scim('POST', '/Groups', { displayName: 'Team', members }, {}, a.as)).body;
    const tenantId = await t.tenant();
    await t.call('PATCH', `/users/${moves.id}`, { as: await t.admin(), body: { tenantId } });
    for (const r of [
      await scim('GET', `/Groups/${group.id}`, undefined, {}, a.as),
      await scim('GET', '/Groups', undefined, {}, a.as),
      await scim('PATCH', `/Groups/${group.id}`, { Operations: [{ op: 'add', path: 'members', value: [] }] }, {}, a.as),
    ]) {
      expect([r.status, r.text.includes(stays.id), r.text.includes(moves.id)]).toEqual([200, true, false]);
      expect(r.text).not.toContain('Secret name');
    }
  });

  it('cannot change administrators, and its groups give no role', async () => {
    const a = await tenantToken();
    const [admin] = (await listed('active eq true', 'Users', a.as)).Resources;
    const body = { userName: 'attacker@example.com', active: false };
    expect((await scim('PUT', `/Users/${admin.id}`, body, {}, a.as)).status).toBe(403);
    expect((await scim('DELETE', `/Users/${admin.id}`, undefined, {}, a.as)).status).toBe(403);
    const user = await created({}, a.as);
    const members = [{ value: user.id }];
    expect((await scim('POST', '/Groups', { displayName: 'Legate admins', members }, {}, a.as)).status).toBe(201);
    expect((await t.call('GET', `/users/${user.id}`, { as: await t.admin() })).body.role).toBe('user');
  });
});
