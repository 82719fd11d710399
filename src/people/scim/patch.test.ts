import { describe, expect, it } from 'vitest';
import { scimClient } from '../../../test/support/scim.ts';
import type { Json } from '../../../test/support/service.ts';

const { created, mark, name, patch, scim } = scimClient();

const createdGroup = async (body: Json = {}): Promise<Json> =>
  (await scim('POST', '/Groups', { displayName: mark('Patched'), ...body })).body;

/** Sends each operation after one that would rename the resource, and expects it to be refused as a whole. */
async function refused(path: string, operations: readonly Json[], scimType: string): Promise<void> {
  const before = (await scim('GET', path)).text;
  for (const operation of operations) {
    const r = await patch(path, { op: 'replace', path: 'displayName', value: mark('Gone') }, operation);
    expect([operation, r.status, r.body.scimType]).toEqual([operation, 400, scimType]);
  }
  expect((await scim('GET', path)).text).toBe(before);
}

describe('PATCH', () => {
  it('[RFC 7644 3.5.2.2] a patch that removes a required attribute is refused with mutability', async () => {
    const unset = (attribute: string) => [
      { op: 'remove', path: attribute },
      { op: 'Remove', path: attribute.toUpperCase() },
      { op: 'replace', path: attribute, value: null },
      { op: 'replace', value: { [attribute]: null } },
    ];
    const user = `/Users/${(await created({ displayName: 'Ada' })).id}`;
    const urn = 'urn:ietf:params:scim:schemas:core:2.0';
    await refused(user, [...unset('userName'), { op: 'remove', path: `${urn}:User:userName` }], 'mutability');
    const group = `/Groups/${(await createdGroup()).id}`;
    await refused(group, [...unset('displayName'), { op: 'remove', path: `${urn}:Group:displayName` }], 'mutability');
    expect((await patch(user, { op: 'remove', path: 'displayName' })).status).toBe(200);
    expect((await patch(group, { op: 'remove', path: 'members' })).status).toBe(200);
  });

  it('[RFC 7644 3.5.2] a patch of an unknown sub-attribute is refused with invalidPath', async () => {
    const user = await created({ name: { givenName: 'Ada' } });
    const email = `emails[value eq "${user.userName}"]`;
    await refused(
      `/Users/${user.id}`,
      [
        ...['name.foo', 'emails.foo', `${email}.foo`, 'userName.foo', 'active.value', 'NAME.__proto__'].map((path) => ({
          op: 'replace',
          path,
          value: 'x',
        })),
        { op: 'remove', path: 'name.foo' },
        { op: 'add', value: { 'name.foo': 'x' } },
      ],
      'invalidPath',
    );
    await refused(
      `/Groups/${(await createdGroup()).id}`,
      ['members.foo', 'members.givenName', 'displayName.foo'].map((path) => ({ op: 'replace', path, value: 'x' })),
      'invalidPath',
    );
    // Sub-attributes of RFC 7643 that are not stored are ignored, as in other requests.
    const r = await patch(
      `/Users/${user.id}`,
      { op: 'add', path: 'name.middleName', value: 'M' },
      { op: 'add', path: 'Name.HonorificPrefix', value: 'Dr.' },
      { op: 'add', path: `${email}.display`, value: 'x' },
      { op: 'replace', path: 'name', value: { givenName: 'B', foo: 1 } },
    );
    expect([r.status, r.body.name.givenName, r.body.name.middleName]).toEqual([200, 'B', undefined]);
  });

  it('[RFC 7644 3.12] a patch with an unknown op or without operations is refused with invalidSyntax', async () => {
    for (const path of [`/Users/${(await created()).id}`, `/Groups/${(await createdGroup()).id}`]) {
      const before = (await scim('GET', path)).text;
      const rename = { op: 'replace', path: 'displayName', value: mark('Gone') };
      await refused(path, [{ op: 'move', path: 'displayName' }, { path: 'displayName' }, { op: 5 }], 'invalidSyntax');
      for (const body of [{ Operations: [] }, {}, { Operations: rename }, { operations: ['add'] }]) {
        const r = await scim('PATCH', path, body);
        expect([body, r.status, r.body.scimType]).toEqual([body, 400, 'invalidSyntax']);
      }
      expect((await scim('GET', path)).text).toBe(before);
    }
  });

  it('[RFC 7644 3.5.2] a patch without a path ignores members of other extensions, as a creation does', async () => {
    const extensions = {
      'urn:okta:acme:1.0:user:custom': { colour: 'red' },
      'urn:example:params:scim:schemas:extension:Acme:2.0:User:colour': 'red',
      'URN:ietf:params:scim:schemas:extension:enterprise:2.0:User': { department: 'R&D' },
    };
    const user = await created({ userName: name(), ...extensions });
    const group = await createdGroup(extensions);
    for (const path of [`/Users/${user.id}`, `/Groups/${group.id}`])
      for (const op of ['add', 'replace']) {
        const displayName = mark('With extensions');
        const r = await patch(path, { op, value: { ...extensions, displayName } });
        expect([r.status, r.body.displayName, r.text.includes('red')]).toEqual([200, displayName, false]);
      }
    await refused(
      `/Users/${user.id}`,
      [
        { op: 'replace', path: 'urn:okta:acme:1.0:user:custom:colour', value: 'red' },
        { op: 'replace', value: { noSuch: 1 } },
        { op: 'replace', value: { 'urn:ietf:params:scim:schemas:core:2.0:User:noSuch': 1 } },
      ],
      'invalidPath',
    );
  });
});
