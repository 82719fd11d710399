import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

const SCIM_JSON = { 'content-type': 'application/scim+json' };
const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';
const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

let t: TestService;
let token: string;
let count = 0;
beforeAll(async () => {
  t = await createTestService({
    lasting: true,
    config: { users: { scimGroups: ['Legate admins=role:admin', 'Acme staff=tenant:acme'] } },
  });
  token = await t.apiToken((await t.admin()).id, ['scim']);
});

const scim = (method: string, path: string, body?: Json, headers: Record<string, string> = {}, as = token) =>
  t.call(method, `/scim/v2${path}`, {
    headers: { authorization: `Bearer ${as}`, ...(body === undefined ? {} : SCIM_JSON), ...headers },
    ...(body === undefined ? {} : { raw: JSON.stringify(body) }),
  });
const name = (): string => `person-${++count}@example.com`;
const created = async (body: Json = {}, as = token): Promise<Json> => {
  const r = await scim('POST', '/Users', { userName: name(), ...body }, {}, as);
  if (r.status !== 201) throw new Error(`POST /Users answered ${r.status}: ${r.text}`);
  return r.body;
};
const listed = async (filter: string, kind = 'Users', as = token): Promise<Json> =>
  (await scim('GET', `/${kind}?${new URLSearchParams({ filter })}`, undefined, {}, as)).body;
const patch = (path: string, ...Operations: Json[]) => scim('PATCH', path, { schemas: [PATCH_OP], Operations });
/** An administrator's token that is bound to a new tenant. */
async function tenantToken(): Promise<{ tenantId: string; as: string }> {
  const tenantId = await t.tenant();
  const admin = await t.user({ role: 'admin', tenantId });
  return { tenantId, as: await t.apiToken(admin.id, ['scim']) };
}

describe('SCIM users', () => {
  it('[RFC 7644 3.3] creates a user from the example of RFC 7643, section 8.2, and ignores what it does not store', async () => {
    const r = await scim('POST', '/Users', {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName: 'bjensen@example.com',
      externalId: 'bjensen',
      name: { formatted: 'Ms. Barbara J Jensen III', familyName: 'Jensen', givenName: 'Barbara', middleName: 'Jane' },
      emails: [
        { value: 'babs@jensen.example', type: 'home' },
        { value: 'bjensen@example.com', type: 'work', primary: true },
      ],
      title: 'Tour Guide',
      phoneNumbers: [{ value: '555-555-5555', type: 'work' }],
    });
    expect([r.status, r.headers.get('content-type')]).toEqual([201, 'application/scim+json']);
    expect(r.headers.get('location')).toBe(`${t.legate.baseUrl}/scim/v2/Users/${r.body.id}`);
    expect(r.headers.get('etag')).toBe(r.body.meta.version);
    expect(r.body).toEqual({
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      id: expect.stringMatching(/^usr_/),
      externalId: 'bjensen',
      userName: 'bjensen@example.com',
      name: { formatted: 'Ms. Barbara J Jensen III', familyName: 'Jensen', givenName: 'Barbara' },
      displayName: 'Ms. Barbara J Jensen III',
      active: true,
      emails: [{ value: 'bjensen@example.com', type: 'work', primary: true }],
      meta: expect.objectContaining({ resourceType: 'User', version: expect.stringMatching(/^W\/"/) }),
    });
    const again = await scim('POST', '/Users', { userName: 'BJensen@Example.com' });
    expect([again.status, again.headers.get('content-type'), again.body]).toEqual([
      409,
      'application/scim+json',
      { schemas: [ERROR], status: '409', scimType: 'uniqueness', detail: expect.any(String) },
    ]);
    const missing = await scim('POST', '/Users', { displayName: 'No name' });
    expect(missing.body).toMatchObject({ schemas: [ERROR], status: '400', scimType: 'invalidValue' });
  });

  it('[RFC 7644 3.4.2.2] filters by eq, ne, co, sw, and, or, not and parentheses, without case where SCIM says so', async () => {
    const mark = `zoe${++count}`;
    const one = await created({
      userName: `${mark}-a@example.com`,
      externalId: 'X1',
      displayName: `${mark} Ärger 50%_x`,
    });
    const two = await created({ userName: `${mark}-b@example.com`, displayName: `${mark} other`, active: false });
    const ids = async (filter: string) => (await listed(filter)).Resources.map(({ id }: Json) => id).sort();
    const both = [one.id, two.id].sort();
    expect(await ids(`userName eq "${mark}-A@EXAMPLE.com"`)).toEqual([one.id]);
    expect(await ids(`urn:ietf:params:scim:schemas:core:2.0:User:userName sw "${mark}"`)).toEqual(both);
    expect(await ids(`userName sw "${mark}" and active eq false`)).toEqual([two.id]);
    expect(await ids(`userName sw "${mark}" and not (active eq false)`)).toEqual([one.id]);
    expect(await ids(`userName sw "${mark}" and externalId ne "X1"`)).toEqual([two.id]);
    expect(await ids(`externalId eq "x1" and userName sw "${mark}"`)).toEqual([]);
    expect(await ids(`displayName co "50%_" and userName sw "${mark}"`)).toEqual([one.id]);
    expect(await ids(`displayName co "5_%" and userName sw "${mark}"`)).toEqual([]);
    expect(await ids(`emails[value sw "${mark}-b" and type eq "work"]`)).toEqual([two.id]);
    expect(await ids(`userName eq "nobody" or (userName sw "${mark}" and displayName co "OTHER")`)).toEqual([two.id]);
    expect(await ids(`id eq "${one.id}"`)).toEqual([one.id]);
    expect(await ids(`externalId sw "X" and userName co "${mark}"`)).toEqual([one.id]);
    expect(await ids(`(externalId sw "x" or externalId co "x1") and userName co "${mark}"`)).toEqual([]);
  });

  it.each([
    'userName',
    'userName eq',
    'userName eq "a" or',
    'userName gt "a"',
    'userName eq "a" userName eq "b"',
    'password eq "x"',
    'users.password_hash sw "$argon2"',
    'userName eq "a\\u0000"',
    "userName eq 'a' --",
    'active eq "true"',
    'userName co 5',
    '(((userName eq "a")',
    `${'('.repeat(50)}userName eq "a"${')'.repeat(50)}`,
  ])('[RFC 7644 3.12] refuses the filter %s with invalidFilter', async (filter) => {
    const r = await scim('GET', `/Users?${new URLSearchParams({ filter })}`);
    expect([r.status, r.body.scimType]).toEqual([400, 'invalidFilter']);
  });

  it('refuses repeated and malformed parameters with 400 in the form of SCIM', async () => {
    for (const query of [
      'count=1&count=2',
      'count=x',
      'startIndex=1.5',
      'filter=',
      'filter=%00',
      'attributes=%00',
      `attributes=${'a'.repeat(2001)}`,
      `filter=${'a'.repeat(2001)}`,
    ])
      for (const kind of ['Users', 'Groups']) {
        const r = await scim('GET', `/${kind}?${query}`);
        expect([query, r.status, r.body.schemas]).toEqual([query, 400, [ERROR]]);
      }
  });

  it('treats a filter with SQL in it as text', async () => {
    for (const text of [`' or '1'='1`, `x" or "1"="1`.replaceAll('"', '\\"'), `'; drop table users; --`, '%', '_'])
      expect((await listed(`userName eq "${text}"`)).totalResults, text).toBe(0);
    expect((await listed('userName co "%"')).totalResults).toBe(0);
  });

  it('[RFC 7644 3.4.2.4, 3.9] pages by startIndex and count, and returns the requested attributes', async () => {
    const mark = `page${++count}`;
    const all = [];
    for (let i = 0; i < 3; i++) all.push((await created({ userName: `${mark}-${i}@example.com` })).id);
    const page = async (query: string) =>
      (await scim('GET', `/Users?filter=${encodeURIComponent(`userName sw "${mark}"`)}&${query}`)).body;
    const second = await page('startIndex=2&count=1&attributes=userName');
    expect(second).toMatchObject({ totalResults: 3, startIndex: 2, itemsPerPage: 1 });
    expect(second.Resources).toEqual([{ schemas: expect.any(Array), id: all[1], userName: `${mark}-1@example.com` }]);
    expect(await page('count=0')).toMatchObject({ totalResults: 3, itemsPerPage: 0, Resources: [] });
    expect((await page('startIndex=-5&count=-1')).startIndex).toBe(1);
    expect((await page('excludedAttributes=emails,meta')).Resources[0]).not.toHaveProperty('emails');
  });

  it('[RFC 7644 3.14] compares versions: If-None-Match returns 304, If-Match of an old version 412', async () => {
    const user = await created();
    const path = `/Users/${user.id}`;
    expect((await scim('GET', path, undefined, { 'if-none-match': user.meta.version })).status).toBe(304);
    t.clock.advance(1);
    const put = await scim(
      'PUT',
      path,
      { userName: user.userName, displayName: 'New' },
      { 'if-match': user.meta.version },
    );
    expect([put.status, put.body.displayName]).toEqual([200, 'New']);
    const stale = await scim('PUT', path, { userName: user.userName }, { 'if-match': user.meta.version });
    expect([stale.status, stale.body.status]).toEqual([412, '412']);
    expect((await scim('DELETE', path, undefined, { 'if-match': user.meta.version })).status).toBe(412);
    expect((await scim('DELETE', path)).status).toBe(204);
    expect((await scim('GET', path)).body).toMatchObject({ schemas: [ERROR], status: '404' });
  });

  it('[RFC 7644 3.5.2] patches by paths, filters and values, all operations or none', async () => {
    const user = await created({ name: { givenName: 'Ada', familyName: 'L' } });
    const path = `/Users/${user.id}`;
    const moved = name();
    const r = await patch(
      path,
      { op: 'replace', path: 'name.familyName', value: 'Lovelace' },
      { op: 'replace', path: 'emails[type eq "work"].value', value: moved },
      { op: 'add', value: { displayName: 'Ada', externalId: 'e1' } },
      { op: 'remove', path: 'name.givenName' },
    );
    expect(r.body).toMatchObject({ displayName: 'Ada', externalId: 'e1', name: { familyName: 'Lovelace' } });
    expect(r.body.name.givenName).toBeUndefined();
    expect(r.body.emails[0].value).toBe(moved);
    for (const [operation, scimType] of [
      [{ op: 'replace', path: 'noSuch', value: 1 }, 'invalidPath'],
      [{ op: 'replace', path: 'emails[type eq "home"].value', value: 'x@example.com' }, 'noTarget'],
      [{ op: 'replace', path: 'id', value: 'usr_x' }, 'mutability'],
      [{ op: 'remove' }, 'noTarget'],
      [{ op: 'remove', path: 'userName' }, 'invalidValue'],
      [{ op: 'replace', path: 'emails[type eq].value', value: 1 }, 'invalidFilter'],
      [{ op: 'replace', value: 'x' }, 'invalidValue'],
      [{ op: 'move', path: 'userName' }, 'invalidValue'],
      [{ op: 'add', path: 'emails.type', value: { value: 'x' } }, 'invalidValue'],
    ] as const) {
      const wrong = await patch(path, { op: 'replace', path: 'displayName', value: 'Gone' }, operation);
      expect([wrong.status, wrong.body.scimType], JSON.stringify(operation)).toEqual([400, scimType]);
    }
    expect((await scim('GET', path)).body.displayName).toBe('Ada');
  });

  it('[RFC 7644 3.5.2] refuses values of another form, and moves primary to an added address', async () => {
    const user = await created();
    const path = `/Users/${user.id}`;
    for (const second of [
      { op: 'replace', path: 'emails.value', value: 'y@example.com' },
      { op: 'replace', path: 'emails[value eq "text"].type', value: 'work' },
      { op: 'remove', path: 'emails[value eq "text"].type' },
      { op: 'replace', path: 'emails[value eq "text"]', value: { type: 'work' } },
    ]) {
      const r = await patch(path, { op: 'add', path: 'emails', value: ['text'] }, second);
      expect([r.status, r.body.scimType], JSON.stringify(second)).toEqual([400, 'invalidValue']);
    }
    const next = name();
    const added = { value: next, type: 'home', primary: true };
    const r = await patch(path, { op: 'add', path: 'emails', value: [added] });
    expect(r.body.emails).toEqual([{ value: next, type: 'work', primary: true }]);
  });

  it('takes the requests of Okta and Entra ID, and active: false suspends', async () => {
    const email = name();
    // Okta: looks the user up, then creates and deactivates it.
    expect(await listed(`userName eq "${email}"`)).toMatchObject({ totalResults: 0, Resources: [] });
    const user = await created({
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName: email,
      name: { givenName: 'Test', familyName: 'User' },
      emails: [{ primary: true, value: email, type: 'work' }],
      displayName: 'Test User',
      locale: 'en-US',
      externalId: '00ujl29u0le5T6Aj10h7',
      groups: [],
      password: '1mz050nq',
      active: true,
    });
    const session = await t.apiToken(user.id);
    const isSignedIn = async () => (await t.call('GET', '/agents', { as: session })).status === 200;
    expect(await isSignedIn()).toBe(true);
    expect((await patch(`/Users/${user.id}`, { op: 'replace', value: { active: false } })).body.active).toBe(false);
    expect(await isSignedIn()).toBe(false);
    // Entra ID: capitalised operations, booleans as text, and attributes of the enterprise extension.
    const entra = await patch(
      `/Users/${user.id}`,
      { op: 'Replace', path: 'active', value: 'True' },
      { op: 'Add', path: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department', value: 'R&D' },
      { op: 'Replace', value: { 'name.givenName': 'Changed', title: 'x' } },
    );
    expect([entra.status, entra.body.active, entra.body.name.givenName]).toEqual([200, true, 'Changed']);
    expect(await isSignedIn()).toBe(true);
    const [event] = (await t.call('GET', '/changes?type=user.updated&limit=1', { as: await t.admin() })).body;
    expect(event).toMatchObject({ actor: { kind: 'apiToken' } });
  });

  it('needs an administrator, and a narrowed token the scope scim', async () => {
    const status = async (as: string) => (await scim('GET', '/Users', undefined, {}, as)).status;
    const admin = await t.admin();
    expect(await status(admin.token)).toBe(200);
    expect(await status(await t.apiToken(admin.id, ['agents:read']))).toBe(403);
    expect(await status(await t.apiToken((await t.user()).id, ['scim']))).toBe(403);
    const r = await scim('GET', '/Users', undefined, {}, 'lgk_wrong');
    expect([r.status, r.headers.get('content-type'), r.body.schemas]).toEqual([401, 'application/scim+json', [ERROR]]);
    expect((await t.call('GET', '/users', { as: token })).status).toBe(403);
  });
});

describe('a token of a tenant', () => {
  it('sees nobody of another tenant, and creates users in its own', async () => {
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

describe('SCIM groups', () => {
  it('[RFC 7644 3.5.2] give role and tenant, and take them back', async () => {
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

it('takes a group of 10,000 members, and records only those who come and go', async () => {
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

it('[RFC 7644 4] describes itself without a credential', async () => {
  for (const path of ['ServiceProviderConfig', 'ResourceTypes', 'Schemas', 'ResourceTypes/Group']) {
    const r = await t.call('GET', `/scim/v2/${path}`);
    expect([r.status, r.headers.get('content-type')]).toEqual([200, 'application/scim+json']);
  }
  expect((await t.call('GET', '/scim/v2/Schemas/urn:x')).status).toBe(404);
});
