import { expect, it } from 'vitest';
import { inTurn } from '../../../test/support/in-turn.ts';
import { eventsAbout, PASSWORD, type Person, signedUp, signIn, withMailbox } from '../../../test/support/people.ts';

const shared = withMailbox();

it('records nothing about a person who is deleted or readdressed while their password is checked', async () => {
  const { t } = await shared();
  const admin = await t.admin();
  const readdress = (p: Person) =>
    t.call('PATCH', `/scim/v2/Users/${p.id}`, {
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/scim+json' },
      raw: JSON.stringify({
        schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
        Operations: [{ op: 'replace', path: 'emails', value: [{ value: `new-${p.email}`, primary: true }] }],
      }),
    });
  const remove = (p: Person) => t.call('DELETE', `/users/${p.id}`, { as: admin });
  for (const end of [remove, readdress])
    for (const password of [PASSWORD, 'wrong horse battery']) {
      const p = await signedUp(await shared());
      const [ended, refused] = await inTurn(
        t,
        () => end(p),
        () => signIn(p, password),
      );
      expect(ended?.status).toBeLessThan(300);
      expect([refused?.status, refused?.body.error.code]).toEqual([401, 'INVALID_EMAIL_OR_PASSWORD']);
      const counts = t.legate.platform.database.read.selectFrom('attempts').selectAll().where('account', '=', p.id);
      expect([await counts.execute(), await eventsAbout(p, 'auth.failed')]).toEqual([[], []]);
    }
});
