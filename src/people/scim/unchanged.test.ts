import { beforeAll, describe, expect, it } from 'vitest';
import { scimClient } from '../../../test/support/scim.ts';
import type { Json, TestService } from '../../../test/support/service.ts';

const { service, created, mark, patch, scim } = scimClient();
let t: TestService;
beforeAll(() => {
  t = service();
});

const updates = async (type: string): Promise<number> =>
  (await t.call('GET', `/changes?type=${type}&limit=1000`, { as: await t.admin() })).body.length;

/** Sends requests a second apart, and expects none of them to change the resource or to emit an event. */
async function unchanged(path: string, type: string, operations: readonly Json[][]): Promise<void> {
  const before = await scim('GET', path);
  const events = await updates(type);
  const { meta } = before.body;
  for (const some of operations) {
    t.clock.advance(1000);
    const r = await patch(path, ...some);
    expect([some, r.status, r.body, r.headers.get('etag')]).toEqual([some, 200, before.body, meta.version]);
  }
  t.clock.advance(1000);
  const put = await scim('PUT', path, before.body, { 'if-match': meta.version });
  expect([put.status, put.body, put.headers.get('etag')]).toEqual([200, before.body, meta.version]);
  expect(await updates(type)).toBe(events);
  expect((await scim('GET', path, undefined, { 'if-none-match': meta.version })).status).toBe(304);
  t.clock.advance(1000);
  const { body } = await patch(path, { op: 'replace', path: 'displayName', value: mark('Changed') });
  expect(Date.parse(body.meta.lastModified)).toBeGreaterThan(Date.parse(meta.lastModified));
  expect(body.meta.version).not.toBe(meta.version);
  expect(await updates(type)).toBe(events + 1);
}

describe('PUT and PATCH', () => {
  it('[RFC 7644 3.5.2.1] what changes nothing of a user moves neither lastModified nor version', async () => {
    const user = await created({ displayName: 'Ada L', externalId: 'e1', name: { givenName: 'Ada' } });
    const { userName } = user;
    await unchanged(`/Users/${user.id}`, 'user.updated', [
      [{ op: 'replace', path: 'displayName', value: 'Ada L' }],
      [{ op: 'add', value: { externalId: 'e1', name: { givenName: 'Ada' }, active: 'True' } }],
      [{ op: 'add', path: 'emails', value: [{ value: userName.toUpperCase(), primary: true }] }],
      [{ op: 'remove', path: 'name.familyName' }],
      [{ op: 'replace', path: 'title', value: 'Countess' }],
      ['Augusta', 'Ada L'].map((value) => ({ op: 'replace', path: 'displayName', value })),
    ]);
  });

  it('what changes nothing of a user who has signed up does not either', async () => {
    const { id, email } = await t.user();
    await t.call('PATCH', `/users/${id}`, { as: await t.admin(), body: { name: 'Grace' } });
    await unchanged(`/Users/${id}`, 'user.updated', [
      [{ op: 'replace', path: 'displayName', value: 'Grace' }],
      [{ op: 'replace', path: 'userName', value: email }],
    ]);
    // The PUT repeated name.formatted, which is an attribute of its own since then.
    const { body } = await scim('GET', `/Users/${id}`);
    expect([body.name.formatted, body.displayName]).toEqual(['Grace', expect.stringContaining('Changed')]);
  });

  it('[RFC 7644 3.5.2.1] a repeated name that is cut in the middle of a character changes nothing', async () => {
    const name = { givenName: 'a'.repeat(150), familyName: `${'b'.repeat(48)}😀` };
    const { id, userName, displayName, meta } = await created({ name });
    expect(displayName).toBe(`${name.givenName} ${'b'.repeat(48)}`);
    const events = await updates('user.updated');
    t.clock.advance(1000);
    const put = await scim('PUT', `/Users/${id}`, { userName, name });
    expect([put.status, put.body.displayName, put.body.meta]).toEqual([200, displayName, meta]);
    expect(await updates('user.updated')).toBe(events);
  });

  it('[RFC 7644 3.5.2.1] what changes nothing of a group moves neither lastModified nor version', async () => {
    const [one, two] = [await created(), await created({ displayName: 'Two' })];
    const displayName = mark('Unchanged');
    const members = [{ value: one.id }, { value: two.id }];
    const group = (await scim('POST', '/Groups', { displayName, externalId: 'g1', members })).body;
    await unchanged(`/Groups/${group.id}`, 'group.updated', [
      [{ op: 'replace', path: 'displayName', value: displayName }],
      [{ op: 'add', path: 'members', value: [{ value: one.id }] }],
      [{ op: 'replace', path: 'members', value: members.toReversed() }],
      [{ op: 'remove', path: 'members[value eq "usr_unknown"]' }],
      [{ op: 'add', value: { externalId: 'g1' } }],
    ]);
  });
});
