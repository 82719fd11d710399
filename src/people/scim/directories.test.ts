import { beforeAll, describe, expect, it } from 'vitest';
import { scimClient } from '../../../test/support/scim.ts';
import type { Json, TestService } from '../../../test/support/service.ts';

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const { service, created, mark, name, patch, scim } = scimClient();
let t: TestService;
beforeAll(() => {
  t = service();
});

const get = (path: string, query: Record<string, string> = {}) => scim('GET', `${path}?${new URLSearchParams(query)}`);
const statusOf = async (id: string): Promise<string> =>
  (await t.call('GET', `/users/${id}`, { as: await t.admin() })).body.status;
const valuesOf = (members: Json[]): string[] => members.map(({ value }) => value);

/** The requests of "Develop and plan provisioning for a SCIM endpoint in Microsoft Entra ID", in their order. */
describe('the examples of Microsoft Entra ID', () => {
  it('a user is looked for, created, changed, disabled and deleted', async () => {
    const userName = mark('Test_User_');
    const filter = `userName eq "${userName}"`;
    expect((await get('/Users', { filter })).body).toMatchObject({ totalResults: 0, Resources: [] });
    const email = name();
    const made = await scim('POST', '/Users', {
      schemas: [USER, ENTERPRISE],
      externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
      userName,
      active: true,
      emails: [{ primary: true, type: 'work', value: email }],
      meta: { resourceType: 'User' },
      name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
      roles: [],
    });
    expect([made.status, made.body.userName, made.body.emails[0].value]).toEqual([201, userName, email]);
    const path = `/Users/${made.body.id}`;
    expect((await get(path)).body).toEqual(made.body);
    expect((await get('/Users', { filter })).body.Resources).toEqual([made.body]);
    const byId = await get('/Users', { filter: 'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"' });
    expect(byId.body.Resources).toEqual([made.body]);

    const id = made.body.id;
    for (const [filter, ...found] of [
      [`emails[type eq "work"].value eq "${email.toUpperCase()}"`, made.body],
      [`emails[type eq "work"].value eq "${name()}"`],
      [`emails[type eq "home"].value eq "${email}"`],
      [`id eq "${id}" and emails[type eq "work"].value eq "${email}"`, made.body],
      [`id eq "${id}" and manager eq "usr_x"`],
      [`id eq "${id}" and ${ENTERPRISE}:manager eq "usr_x"`],
      [`id eq "${id}" and manager eq null`, made.body],
    ] as const)
      expect([filter, (await get('/Users', { filter })).body.Resources]).toEqual([filter, found]);

    const updated = name();
    const r = await patch(
      path,
      { op: 'Replace', path: 'emails[type eq "work"].value', value: updated },
      { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
    );
    expect([r.status, r.body.emails[0].value, r.body.name.familyName]).toEqual([200, updated, 'updatedFamilyName']);
    const renamed = name();
    expect((await patch(path, { op: 'Replace', path: 'userName', value: renamed })).body.userName).toBe(renamed);
    const ignored = await patch(
      path,
      { op: 'Add', path: `${ENTERPRISE}:manager`, value: 'usr_x' },
      { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '555-0100' },
      { op: 'Add', path: 'addresses[type eq "work"].formatted', value: 'Somewhere' },
      { op: 'Add', path: 'roles[primary eq "True"].value', value: 'Clerk' },
    );
    expect([ignored.status, ignored.body.userName]).toEqual([200, renamed]);
    expect((await patch(path, { op: 'Replace', path: 'active', value: false })).body.active).toBe(false);
    expect(await statusOf(made.body.id)).toBe('suspended');
    expect((await scim('DELETE', path)).status).toBe(204);
    expect((await get(path)).status).toBe(404);
  });

  it('a group is created, looked for, renamed, and its members are added and removed', async () => {
    const displayName = mark('displayName');
    const made = await scim('POST', '/Groups', {
      schemas: [GROUP, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
      displayName,
      meta: { resourceType: 'Group' },
    });
    expect([made.status, made.body.members]).toEqual([201, []]);
    const path = `/Groups/${made.body.id}`;
    expect((await get(path, { excludedAttributes: 'members' })).body).not.toHaveProperty('members');
    const found = await get('/Groups', { excludedAttributes: 'members', filter: `displayName eq "${displayName}"` });
    expect(found.body.Resources).toEqual([expect.not.objectContaining({ members: [] })]);
    const renamed = mark('1879db59');
    expect((await patch(path, { op: 'Replace', path: 'displayName', value: renamed })).body.displayName).toBe(renamed);
    const { id } = await created();
    const member = [{ $ref: null, value: id }];
    const added = await patch(path, { op: 'Add', path: 'members', value: member });
    expect([added.status, valuesOf(added.body.members)]).toEqual([200, [id]]);
    const isMember = async () =>
      (await get('/Groups', { filter: `id eq "${made.body.id}" and members eq "${id}"` })).body.totalResults;
    expect(await isMember()).toBe(1);
    expect((await patch(path, { op: 'Remove', path: 'members', value: member })).body.members).toEqual([]);
    expect(await isMember()).toBe(0);
    expect((await scim('DELETE', path)).status).toBe(204);
  });
});

/** The requests of "SCIM 2.0 protocol" of Okta, in their order. */
describe('the examples of Okta', () => {
  it('a user is looked for, created, imported, replaced, and deactivated', async () => {
    const userName = name();
    const page = { startIndex: '1', count: '100' };
    const missing = await get('/Users', { filter: `userName eq "${userName}"`, ...page });
    expect(missing.body).toMatchObject({ totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] });
    const user = {
      schemas: [USER],
      userName,
      name: { givenName: 'Test', familyName: 'User' },
      emails: [{ primary: true, value: userName, type: 'work' }],
      displayName: 'Test User',
      locale: 'en-US',
      externalId: '00ujl29u0le5T6Aj10h7',
      groups: [],
      password: '1mz050nq',
      active: true,
    };
    const made = await scim('POST', '/Users', user);
    expect(made.status).toBe(201);
    expect(made.text).not.toContain('1mz050nq');
    const path = `/Users/${made.body.id}`;
    expect((await get(path)).body).toEqual(made.body);
    expect((await get('/Users', page)).body.Resources).toContainEqual(made.body);
    const put = await scim('PUT', path, {
      schemas: [USER],
      id: made.body.id,
      userName,
      name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' },
      emails: [{ primary: true, value: userName, type: 'work', display: userName }],
      active: true,
      groups: [],
      meta: { resourceType: 'User' },
    });
    expect([put.status, put.body.name]).toEqual([
      200,
      { formatted: 'Another User', givenName: 'Another', familyName: 'User' },
    ]);
    const synchronised = await patch(path, { op: 'replace', value: { password: '5kq73G.hZ' } });
    expect([synchronised.status, synchronised.body]).toEqual([200, put.body]);
    expect((await patch(path, { op: 'replace', value: { active: false } })).body.active).toBe(false);
    expect(await statusOf(made.body.id)).toBe('suspended');
  });

  it('a group is created, renamed, and its members are replaced', async () => {
    const made = await scim('POST', '/Groups', { schemas: [GROUP], displayName: mark('Test SCIMv2 '), members: [] });
    expect(made.status).toBe(201);
    const { id } = made.body;
    const path = `/Groups/${id}`;
    expect((await get('/Groups', { startIndex: '1', count: '100' })).body.Resources).toContainEqual(made.body);
    const displayName = mark('Test SCIMv0 ');
    expect((await patch(path, { op: 'replace', value: { id, displayName } })).body.displayName).toBe(displayName);
    const [one, two] = [await created(), await created()];
    const asMember = ({ id: value, userName: display }: Json): Json => ({ value, display });
    const put = await scim('PUT', path, { schemas: [GROUP], id, displayName, members: [asMember(one)] });
    expect([put.status, valuesOf(put.body.members)]).toEqual([200, [one.id]]);
    const moved = await patch(
      path,
      { op: 'remove', path: `members[value eq "${one.id}"]` },
      { op: 'add', path: 'members', value: [asMember(two)] },
    );
    expect(valuesOf(moved.body.members)).toEqual([two.id]);
    const both = await patch(path, { op: 'replace', path: 'members', value: [asMember(one), asMember(two)] });
    expect(valuesOf(both.body.members)).toEqual([one.id, two.id].sort());
    expect((await scim('DELETE', path)).status).toBe(204);
  });
});

describe('the examples of RFC 7644', () => {
  it('[RFC 7644 3.5.2] members are added, removed and replaced by the examples of the standard', async () => {
    const [babs, mandy] = [await created(), await created()];
    const { id } = (await scim('POST', '/Groups', { displayName: mark('Tour Guides'), members: [] })).body;
    const asMember = ({ id: value, meta }: Json): Json => ({ display: 'Babs Jensen', $ref: meta.location, value });
    const membersAfter = async (...operations: Json[]): Promise<string[]> => {
      const r = await patch(`/Groups/${id}`, ...operations);
      expect(r.status, r.text).toBe(200);
      return valuesOf(r.body.members);
    };
    const all = [babs.id, mandy.id].sort();
    expect(await membersAfter({ op: 'add', path: 'members', value: [asMember(babs), asMember(mandy)] })).toEqual(all);
    expect(await membersAfter({ op: 'remove', path: `members[value eq "${babs.id}"]` })).toEqual([mandy.id]);
    expect(
      await membersAfter(
        { op: 'remove', path: `members[value eq "${mandy.id}"]` },
        { op: 'add', path: 'members', value: [asMember(babs)] },
      ),
    ).toEqual([babs.id]);
    expect(await membersAfter({ op: 'remove', path: 'members' })).toEqual([]);
    expect(await membersAfter({ op: 'replace', path: 'members', value: [asMember(babs), asMember(mandy)] })).toEqual(
      all,
    );
    expect(
      await membersAfter({ op: 'remove', path: 'members' }, { op: 'add', path: 'members', value: [asMember(mandy)] }),
    ).toEqual([mandy.id]);
  });

  it('[RFC 7644 3.5.2] a user gets and loses values by the examples of the standard', async () => {
    const user = await created();
    const path = `/Users/${user.id}`;
    const home = { value: name(), type: 'home' };
    const added = await patch(path, { op: 'add', value: { emails: [home], nickname: 'Babs' } });
    // The primary address stays the one of the account.
    expect([added.status, added.body]).toEqual([200, user]);
    const work = name();
    const address = { type: 'work', streetAddress: '911 Universal City Plaza', locality: 'Hollywood' };
    const r = await patch(
      path,
      { op: 'replace', path: 'addresses[type eq "work"]', value: address },
      { op: 'replace', path: 'addresses[type eq "work"].streetAddress', value: '1010 Broadway Ave' },
      { op: 'replace', value: { emails: [{ value: work, type: 'work', primary: true }, home], nickname: 'Babs' } },
    );
    expect([r.status, r.body.emails]).toEqual([200, [{ value: work, type: 'work', primary: true }]]);
    const removed = await patch(path, { op: 'remove', path: 'emails[type eq "work" and value co "@other.example"]' });
    expect([removed.status, removed.body.emails]).toEqual([200, r.body.emails]);
  });
});
