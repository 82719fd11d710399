import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';

const NAME = 'sign-in-with-your-identity-provider.md';
const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides', NAME), 'utf8');

it('the guide sets up a directory that creates, promotes, suspends and deletes a person', async () => {
  const [, path = '', body = ''] =
    /POST https:\/\/legate\.example\.com(\/api-tokens) [^{]*-d '(\{[^']+\})'/.exec(guide) ?? [];
  const [, groups = ''] = /LEGATE_USERS_SCIM_GROUPS='([^']+)'/.exec(guide) ?? [];
  const [, scim = ''] = /`https:\/\/legate\.example\.com(\/scim\/v2)`/.exec(guide) ?? [];
  const t = await createTestService({ config: { users: { scimGroups: groups.split(',') } } });
  const made = await t.call('POST', path, { as: await t.admin(), body: JSON.parse(body) });
  expect(made.status).toBe(201);
  const send = (method: string, of: string, value?: object) =>
    t.call(method, scim + of, {
      headers: { authorization: `Bearer ${made.body.token}`, 'content-type': 'application/scim+json' },
      ...(value && { raw: JSON.stringify(value) }),
    });
  const { id } = (await send('POST', '/Users', { userName: 'ann@example.com' })).body;
  const [displayName] = groups.split('=');
  expect((await send('POST', '/Groups', { displayName, members: [{ value: id }] })).status).toBe(201);
  const account = () =>
    t.legate.platform.database.read.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();
  expect(await account()).toMatchObject({ role: 'admin' });
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:PatchOp'];
  const Operations = [{ op: 'replace', path: 'active', value: false }];
  expect((await send('PATCH', `/Users/${id}`, { schemas, Operations })).body).toMatchObject({ active: false });
  expect((await send('DELETE', `/Users/${id}`)).status).toBe(204);
  expect(await account()).toBeUndefined();
});
