import { beforeAll, describe, expect, it } from 'vitest';
import { scimClient } from '../../../test/support/scim.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';
const client = scimClient();
const { created, listed, mark, name, patch, scim } = client;
let t: TestService;
let token: string;
beforeAll(() => {
  t = client.service();
  token = client.token();
});

describe('SCIM users', () => {
  it('[RFC 7644 3.3] the example of RFC 7643 8.2 creates a user; attributes not stored are ignored', async () => {
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

  it('[RFC 7644 3.3] a user is created without an address, which the directory can set later', async () => {
    const userName = mark('bjensen');
    const r = await scim('POST', '/Users', {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName,
      externalId: 'bjensen',
      name: { formatted: 'Ms. Barbara J Jensen III', familyName: 'Jensen', givenName: 'Barbara' },
    });
    expect([r.status, r.body.userName, r.body.emails]).toEqual([201, userName, undefined]);
    const again = await scim('POST', '/Users', { userName: userName.toUpperCase() });
    expect([again.status, again.body.scimType]).toEqual([409, 'uniqueness']);
    expect((await listed(`userName eq "${userName}"`)).totalResults).toBe(1);
    expect((await listed(`userName eq "${userName}" and emails.type eq "work"`)).totalResults).toBe(0);
    const account = async () => (await t.call('GET', `/users/${r.body.id}`, { as: await t.admin() })).body;
    expect(await account()).toMatchObject({ email: null, emailVerified: false, status: 'active' });
    const path = `/Users/${r.body.id}`;
    expect((await patch(path, { op: 'replace', path: 'active', value: false })).body.active).toBe(false);
    const email = name();
    const addressed = await patch(path, { op: 'add', path: 'emails', value: [{ value: email, type: 'work' }] });
    expect([addressed.body.userName, addressed.body.emails[0].value]).toEqual([userName, email]);
    expect(await account()).toMatchObject({ email, emailVerified: true, status: 'suspended' });
    // The directory cannot remove the address, only replace it.
    const without = await patch(path, { op: 'remove', path: 'emails' });
    expect([without.status, without.body.emails[0].value]).toEqual([200, email]);
    const wrong = await patch(path, { op: 'add', path: 'emails', value: [{ value: 'x', primary: true }] });
    expect([wrong.status, wrong.body.scimType]).toEqual([400, 'invalidValue']);
    expect((await scim('DELETE', path)).status).toBe(204);
  });

  it('stores displayName and name.formatted separately', async () => {
    const formatted = `Ms. Barbara J ${mark('Jensen')}, III`;
    const user = await created({ displayName: 'Babs', name: { formatted, givenName: 'Barbara' } });
    expect([user.displayName, user.name]).toEqual(['Babs', { formatted, givenName: 'Barbara' }]);
    expect((await listed(`name.formatted eq "${formatted}"`)).totalResults).toBe(1);
    const path = `/Users/${user.id}`;
    const second = await patch(path, { op: 'replace', path: 'name.formatted', value: 'Dr. Jensen' });
    expect([second.body.displayName, second.body.name.formatted]).toEqual(['Babs', 'Dr. Jensen']);
    const third = await patch(path, { op: 'replace', path: 'displayName', value: 'B' });
    expect([third.body.displayName, third.body.name.formatted]).toEqual(['B', 'Dr. Jensen']);
    const fourth = await patch(path, { op: 'remove', path: 'name' });
    expect([fourth.body.displayName, fourth.body.name]).toEqual(['B', { formatted: 'B' }]);
  });

  it('[RFC 7644 3.12] unknown paths and bodies that are not JSON get an error in the format of SCIM', async () => {
    for (const path of ['', '/', '?count=1', '/Nothing', '/Me/x', '/Bulk', '/Users/x/y', '/Schemas/x/y']) {
      const r = await scim('GET', path);
      expect([path, r.status, r.headers.get('content-type'), r.body]).toEqual([
        path,
        404,
        'application/scim+json',
        { schemas: [ERROR], status: '404', detail: expect.any(String) },
      ]);
    }
    for (const path of ['/scim', '/scim/v2x', '/scim/v3'])
      expect((await t.call('GET', path)).body.error.code).toBe('NOT_FOUND');
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' };
    for (const raw of ['{', '[]', '"text"']) {
      const r = await t.call('POST', '/scim/v2/Users', { headers, raw });
      expect([raw, r.status, r.body.scimType]).toEqual([raw, 400, 'invalidSyntax']);
    }
  });

  it('[RFC 7644 3.11] the alias /Me is 501, because it is not supported', async () => {
    const logged: string[] = [];
    const ignored = () => {};
    const error = (_fields: object, message: string) => logged.push(message);
    const mounted = await createTestService({
      config: { http: { restPath: '/iam' } },
      log: { debug: ignored, info: ignored, warn: ignored, error },
    });
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'POST']) {
      const answers = [await scim(method, '/Me'), await mounted.call(method, '/iam/scim/v2/Me?attributes=id')];
      for (const r of answers)
        expect([method, r.status, r.headers.get('content-type'), r.body]).toEqual([
          method,
          501,
          'application/scim+json',
          { schemas: [ERROR], status: '501', detail: expect.stringContaining('/Me') },
        ]);
    }
    // The service itself has not failed.
    expect(logged).toEqual([]);
  });

  it('[RFC 7644 3.4.2.2] filters: eq, ne, co, sw, and, or, not, parentheses, ignoring case if required', async () => {
    const word = mark('zoe');
    const one = await created({
      userName: `${word}-a@example.com`,
      externalId: 'X1',
      displayName: `${word} Ärger 50%_x`,
    });
    const two = await created({ userName: `${word}-b@example.com`, displayName: `${word} other`, active: false });
    const ids = async (filter: string) => (await listed(filter)).Resources.map(({ id }: Json) => id).sort();
    const both = [one.id, two.id].sort();
    expect(await ids(`userName eq "${word}-A@EXAMPLE.com"`)).toEqual([one.id]);
    expect(await ids(`urn:ietf:params:scim:schemas:core:2.0:User:userName sw "${word}"`)).toEqual(both);
    expect(await ids(`userName sw "${word}" and active eq false`)).toEqual([two.id]);
    expect(await ids(`userName sw "${word}" and not (active eq false)`)).toEqual([one.id]);
    expect(await ids(`userName sw "${word}" and externalId ne "X1"`)).toEqual([two.id]);
    expect(await ids(`externalId eq "x1" and userName sw "${word}"`)).toEqual([]);
    expect(await ids(`displayName co "50%_" and userName sw "${word}"`)).toEqual([one.id]);
    expect(await ids(`displayName co "5_%" and userName sw "${word}"`)).toEqual([]);
    expect(await ids(`emails[value sw "${word}-b" and type eq "work"]`)).toEqual([two.id]);
    expect(await ids(`userName eq "nobody" or (userName sw "${word}" and displayName co "OTHER")`)).toEqual([two.id]);
    expect(await ids(`id eq "${one.id}"`)).toEqual([one.id]);
    expect(await ids(`externalId sw "X" and userName co "${word}"`)).toEqual([one.id]);
    expect(await ids(`(externalId sw "x" or externalId co "x1") and userName co "${word}"`)).toEqual([]);
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
  ])('[RFC 7644 3.12] the filter %s is refused with invalidFilter', async (filter) => {
    const r = await scim('GET', `/Users?${new URLSearchParams({ filter })}`);
    expect([r.status, r.body.scimType]).toEqual([400, 'invalidFilter']);
  });

  it('refuses repeated and malformed parameters with 400 in the format of SCIM', async () => {
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

  it('[RFC 7644 3.4.2.4, 3.9] lists have pages by startIndex and count, and the requested attributes', async () => {
    const word = mark('page');
    const all = [];
    for (let i = 0; i < 3; i++) all.push((await created({ userName: `${word}-${i}@example.com` })).id);
    const page = async (query: string) =>
      (await scim('GET', `/Users?filter=${encodeURIComponent(`userName sw "${word}"`)}&${query}`)).body;
    const second = await page('startIndex=2&count=1&attributes=userName');
    expect(second).toMatchObject({ totalResults: 3, startIndex: 2, itemsPerPage: 1 });
    expect(second.Resources).toEqual([{ schemas: expect.any(Array), id: all[1], userName: `${word}-1@example.com` }]);
    expect(await page('count=0')).toMatchObject({ totalResults: 3, itemsPerPage: 0, Resources: [] });
    expect((await page('startIndex=-5&count=-1')).startIndex).toBe(1);
    expect((await page('excludedAttributes=emails,meta')).Resources[0]).not.toHaveProperty('emails');
  });

  it('[RFC 7644 3.14] versions are compared: If-None-Match returns 304, If-Match of an old version 412', async () => {
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

  it('[RFC 7644 3.5.2] a patch applies paths, filters and values, all operations or none', async () => {
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
      [{ op: 'remove', path: 'userName' }, 'mutability'],
      [{ op: 'replace', path: 'emails[type eq].value', value: 1 }, 'invalidFilter'],
      [{ op: 'replace', value: 'x' }, 'invalidValue'],
      [{ op: 'move', path: 'userName' }, 'invalidSyntax'],
      [{ op: 'add', path: 'emails.type', value: { value: 'x' } }, 'invalidValue'],
    ] as const) {
      const wrong = await patch(path, { op: 'replace', path: 'displayName', value: 'Gone' }, operation);
      expect([wrong.status, wrong.body.scimType], JSON.stringify(operation)).toEqual([400, scimType]);
    }
    expect((await scim('GET', path)).body.displayName).toBe('Ada');
  });

  it('[RFC 7644 3.5.2] a patch with a wrong type is refused, and an added address can take over primary', async () => {
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

  it('[RFC 7643 2.1] names of attributes are read in any case, in resources and patches', async () => {
    const email = name();
    const r = await scim('POST', '/Users', {
      Schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      USERNAME: email,
      Name: { GIVENNAME: 'Ada' },
      ACTIVE: 'false',
    });
    expect([r.status, r.body.userName, r.body.name.givenName, r.body.active]).toEqual([201, email, 'Ada', false]);
    const path = `/Users/${r.body.id}`;
    const put = await scim('PUT', path, { username: email, EMAILS: [{ VALUE: email }], active: true });
    expect([put.status, put.body.active, put.body.name]).toEqual([200, true, undefined]);
    const operations = [
      { Op: 'add', Path: 'NAME.familyname', Value: 'L' },
      { op: 'replace', value: { DISPLAYNAME: 'Ada L', name: { givenname: 'First' } } },
      { op: 'replace', path: 'name', value: { GivenName: 'Second' } },
      { op: 'replace', path: 'emails', value: [{ Value: email, Primary: 'True' }] },
    ];
    const patched = await scim('PATCH', path, { operations });
    expect(patched.body).toMatchObject({ displayName: 'Ada L', name: { familyName: 'L', givenName: 'Second' } });

    const members = [{ VALUE: r.body.id }];
    const group = await scim('POST', '/Groups', { displayname: mark('group'), Members: members });
    expect([group.status, group.body.members.length]).toEqual([201, 1]);
    await patch(`/Groups/${group.body.id}`, { op: 'remove', path: 'Members', value: members });
    expect((await scim('GET', `/Groups/${group.body.id}`)).body.members).toEqual([]);
  });

  it('accepts the requests of Okta and Entra ID; active: false suspends', async () => {
    const email = name();
    // Okta looks the user up, then creates and deactivates it.
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
    // Entra ID sends capitalised operations, booleans as text, and attributes of the enterprise extension.
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

  it('requires an administrator, and for a narrowed token the scope scim', async () => {
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

it('[RFC 7644 4] the service describes itself without a credential', async () => {
  for (const path of ['ServiceProviderConfig', 'ResourceTypes', 'Schemas', 'ResourceTypes/Group']) {
    const r = await t.call('GET', `/scim/v2/${path}`);
    expect([r.status, r.headers.get('content-type')]).toEqual([200, 'application/scim+json']);
  }
  expect((await t.call('GET', '/scim/v2/Schemas/urn:x')).status).toBe(404);
});
