import { describe, expect, it } from 'vitest';
import { scimClient } from '../../../test/support/scim.ts';
import type { Json } from '../../../test/support/service.ts';

const { created, mark, name, scim } = scimClient();

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const someone = { displayName: 'Ada L', name: { givenName: 'Ada', familyName: 'Lovelace' } };

describe('the requested attributes', () => {
  it('[RFC 7644 3.9] attributes and excludedAttributes name sub-attributes, in any case, with a URN', async () => {
    const user = await created(someone);
    const { id, schemas } = user;
    const [email] = user.emails;
    const { name: full, emails: __, meta, ...others } = user;
    const { formatted } = full;
    for (const [query, body] of [
      ['attributes=name.familyName', { name: { familyName: 'Lovelace' } }],
      [
        'attributes=NAME.FAMILYNAME,%20emails.Value',
        { name: { familyName: 'Lovelace' }, emails: [{ value: email.value }] },
      ],
      [`attributes=${USER}:name.givenName`, { name: { givenName: 'Ada' } }],
      [`attributes=${USER.toUpperCase()}:USERNAME`, { userName: user.userName }],
      ['attributes=name.familyName,name', { name: full }],
      ['attributes=name,name.familyName', { name: full }],
      ['attributes=meta.version,meta.resourceType', { meta: { resourceType: 'User', version: meta.version } }],
      ['attributes=name.noSuch,noSuch,userName.x,emails.noSuch,id.x', {}],
      [
        'excludedAttributes=name.familyName,emails.type',
        { ...others, meta, name: { formatted, givenName: 'Ada' }, emails: [{ value: email.value, primary: true }] },
      ],
      [
        `excludedAttributes=${USER}:Name.Formatted,emails,meta`,
        { ...others, name: { givenName: 'Ada', familyName: 'Lovelace' } },
      ],
      [
        'excludedAttributes=name.formatted,name.givenName,name.familyName,emails.value,emails.type,emails.primary,meta',
        others,
      ],
      ['excludedAttributes=id,schemas,ID,schemas.x,userName.x,noSuch', user],
    ] as [string, Json][]) {
      const all = { schemas, id, ...body };
      const r = await scim('GET', `/Users/${id}?${query}`);
      expect([query, r.status, r.body]).toEqual([query, 200, all]);
      expect(r.headers.get('etag')).toBe(meta.version);
      const list = await scim('GET', `/Users?filter=${encodeURIComponent(`id eq "${id}"`)}&${query}`);
      expect([query, list.body.Resources]).toEqual([query, [all]]);
    }
  });

  it('apply to members of groups', async () => {
    const [one, two] = [await created(someone), await created()];
    const members = [{ value: one.id }, { value: two.id }];
    const group = (await scim('POST', '/Groups', { displayName: mark('Shown'), members })).body;
    const empty = (await scim('POST', '/Groups', { displayName: mark('Empty') })).body;
    const shown = async ({ id }: Json, query: string) => (await scim('GET', `/Groups/${id}?${query}`)).body;
    expect((await shown(group, 'excludedAttributes=members')).members).toBeUndefined();
    expect((await shown(group, 'excludedAttributes=members.display')).members).toEqual(
      [one, two].map(({ id }) => ({ value: id, type: 'User' })),
    );
    // Only the first member has a name.
    expect(await shown(group, `attributes=${GROUP}:members.display`)).toEqual({
      schemas: [GROUP],
      id: group.id,
      members: [{ display: 'Ada L' }],
    });
    expect((await shown(empty, 'attributes=members.display')).members).toEqual([]);
  });

  it('[RFC 7644 3.9] attributes and excludedAttributes apply to the answers of POST, PUT and PATCH', async () => {
    const make = { Users: () => ({ userName: name() }), Groups: () => ({ displayName: mark('Made') }) };
    for (const kind of ['Users', 'Groups'] as const) {
      const body = make[kind]();
      const [[attribute, value]] = Object.entries(body) as [[string, string]];
      const first = await scim('POST', `/${kind}?attributes=meta.resourceType`, body);
      const { id, schemas } = first.body;
      const resourceType = kind.slice(0, -1);
      expect([first.status, first.body]).toEqual([201, { schemas, id, meta: { resourceType } }]);
      expect(first.headers.get('location')).toContain(id);
      const put = await scim('PUT', `/${kind}/${id}?attributes=${attribute}`, body);
      expect([put.status, put.body]).toEqual([200, { schemas, id, [attribute]: value }]);
      const Operations = [{ op: 'add', path: 'externalId', value: 'x1' }];
      const patched = await scim('PATCH', `/${kind}/${id}?excludedAttributes=meta.location,${attribute}`, {
        Operations,
      });
      expect([patched.status, patched.body.externalId, patched.body[attribute]]).toEqual([200, 'x1', undefined]);
      expect(Object.keys(patched.body.meta)).toEqual(['resourceType', 'created', 'lastModified', 'version']);
      const wrong = await scim('PATCH', `/${kind}/${id}?attributes=id&attributes=meta`, { Operations });
      expect([wrong.status, wrong.body.scimType]).toEqual([400, 'invalidValue']);
    }
  });
});
