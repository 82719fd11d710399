import { expect, it } from 'vitest';
import { isSignedIn, PASSWORD, signedUp, signIn, verified, withMailbox } from '../../../test/support/people.ts';
import { scimClient } from '../../../test/support/scim.ts';
import { createTestService, type TestService } from '../../../test/support/service.ts';

const client = scimClient();
const mailed = withMailbox();

/** Sets a new address for a user, and returns the status and the address afterwards. */
async function readdress(t: TestService, id: string, as: string): Promise<[number, boolean]> {
  const userName = client.name();
  const r = await t.call('PUT', `/scim/v2/Users/${id}`, {
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/scim+json' },
    raw: JSON.stringify({ userName, displayName: 'Renamed' }),
  });
  const { body } = await t.call('GET', `/users/${id}`, { as: await t.admin() });
  return [r.status, body.email === userName];
}

it('a token with the scope scim cannot take over administrators and auditors through their address', async () => {
  const t = await createTestService({ lasting: true });
  const admin = await t.admin();
  const token = await t.apiToken(admin.id, ['scim']);
  const people = [await t.user({ role: 'admin' }), await t.user({ role: 'auditor' })];
  for (const { id } of people) {
    expect(await readdress(t, id, token)).toEqual([403, false]);
    const { email } = (await t.call('GET', `/users/${id}`, { as: admin })).body;
    const patch = (value: object) =>
      t.call('PATCH', `/scim/v2/Users/${id}`, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
        raw: JSON.stringify({
          schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
          Operations: [{ op: 'replace', value }],
        }),
      });
    expect((await patch({ emails: [{ value: client.name(), type: 'work', primary: true }] })).status).toBe(403);
    expect((await patch({ userName: email, displayName: 'Renamed' })).status).toBe(200);
    expect((await patch({ active: false })).body.active).toBe(false);
  }
  for (const { id } of people) expect(await readdress(t, id, admin.token)).toEqual([200, true]);
  expect(await readdress(t, (await t.user()).id, token)).toEqual([200, true]);
});

it('it may change their address if a group gives the role, because it controls administrators anyway', async () => {
  const t = client.service();
  expect(await readdress(t, (await t.user({ role: 'admin' })).id, client.token())).toEqual([200, true]);
});

it('a directory that verifies an address by a change ends what its owner did not create', async () => {
  const stranger = await signedUp(await mailed());
  const { t, id } = stranger;
  const { body } = await t.call('POST', '/api-tokens', { as: stranger.session, body: { name: 'ci' } });
  const works = async () => [
    await isSignedIn(stranger),
    (await t.call('GET', '/auth/session', { as: body.token })).status === 200,
  ];
  const admin = await t.admin();
  expect(await works()).toEqual([true, true]);
  expect(await readdress(t, id, await t.apiToken(admin.id, ['scim']))).toEqual([200, true]);
  const user = await t.legate.users.get(id);
  expect([user.emailVerified, user.name]).toEqual([true, 'Renamed']);
  expect(await works()).toEqual([false, false]);
  expect((await signIn({ ...stranger, email: user.email ?? '' }, PASSWORD)).status).toBe(401);
  const { body: changes } = await t.call('GET', `/changes?subject=${id}&type=user.updated`, { as: admin });
  expect(changes).toMatchObject([
    { data: { changed: ['name', 'email', 'scim'] }, before: { email: stranger.email }, after: { email: user.email } },
    {
      data: { changed: ['emailVerified', 'credentials'], reason: 'address-proved' },
      before: { emailVerified: false, password: 'set' },
      after: { emailVerified: true, password: null },
    },
  ]);
});

it('a verified person whose address a directory changes stays signed in', async () => {
  const person = await verified(await signedUp(await mailed()));
  const token = await person.t.apiToken((await person.t.admin()).id, ['scim']);
  expect(await readdress(person.t, person.id, token)).toEqual([200, true]);
  expect(await isSignedIn(person)).toBe(true);
});
