import { expect, it } from 'vitest';
import { scimClient } from '../../../test/support/scim.ts';

const client = scimClient();
const { scim, patch, created, name, listed } = client;

const emails = () => [{ value: name(), type: 'work', primary: true }];
const idsOf = async (userName: string): Promise<string[]> =>
  (await listed(`userName eq "${userName}"`)).Resources.map(({ id }: { id: string }) => id);

it('[RFC 7643 4.1.1] a userName is unique, also among addresses of users whom no directory has named', async () => {
  const person = await client.service().user();
  const taken = await scim('POST', '/Users', { userName: person.email.toUpperCase(), emails: emails() });
  expect([taken.status, taken.body.scimType]).toEqual([409, 'uniqueness']);
  const other = await created({ emails: emails() });
  const renamed = await patch(`/Users/${other.id}`, { op: 'replace', path: 'userName', value: person.email });
  expect([renamed.status, renamed.body.scimType]).toEqual([409, 'uniqueness']);
  expect(await idsOf(person.email)).toEqual([person.id]);
  // The directory may still change the user, and give them their own address.
  expect((await patch(`/Users/${person.id}`, { op: 'replace', path: 'active', value: false })).body.active).toBe(false);
  expect((await scim('PUT', `/Users/${person.id}`, { userName: person.email })).status).toBe(200);
});

it('[RFC 7643 4.1.1] an account with the userName of another user as address has its id as userName', async () => {
  const named = await created({ emails: emails() });
  const t = client.service();
  const body = { email: named.userName, password: 'correct horse battery' };
  const { id } = (await t.call('POST', '/sign-up', { body })).body.user;
  expect(await idsOf(named.userName)).toEqual([named.id]);
  expect(await idsOf(id)).toEqual([id]);
  expect((await scim('GET', `/Users/${id}`)).body).toMatchObject({ userName: id, emails: [{ value: named.userName }] });
  const suspended = await patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false });
  expect(suspended.body).toMatchObject({ userName: id, active: false, emails: [{ value: named.userName }] });
  expect((await patch(`/Users/${named.id}`, { op: 'replace', value: { active: false } })).body.active).toBe(false);
});

it('an account with the userName of another user as address does not block changes of that user', async () => {
  const named = await created({ emails: emails() });
  const body = { email: named.userName, password: 'correct horse battery' };
  const { id } = (await client.service().call('POST', '/sign-up', { body })).body.user;
  const suspended = await patch(`/Users/${named.id}`, { op: 'replace', path: 'active', value: false });
  expect([suspended.status, suspended.body.userName, suspended.body.active]).toEqual([200, named.userName, false]);
  const replaced = await scim('PUT', `/Users/${named.id}`, { userName: named.userName, emails: named.emails });
  expect(replaced.status).toBe(200);
  // The account cannot take the name over.
  const renamed = await patch(`/Users/${id}`, { op: 'replace', path: 'userName', value: named.userName });
  expect([renamed.status, renamed.body.scimType]).toEqual([409, 'uniqueness']);
});
