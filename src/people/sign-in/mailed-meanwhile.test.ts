import { beforeAll, describe, expect, it } from 'vitest';
import { inTurn } from '../../../test/support/in-turn.ts';
import { type Person, signedUp, verified, withMailbox } from '../../../test/support/people.ts';
import type { Answered, TestUser } from '../../../test/support/service.ts';

const shared = withMailbox();
let admin: TestUser;
beforeAll(async () => {
  admin = await (await shared()).t.admin();
});

/** Gives the account of a person another address. */
const readdress = (p: Person, as = admin.token) =>
  p.t.call('PATCH', `/scim/v2/Users/${p.id}`, {
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/scim+json' },
    raw: JSON.stringify({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations: [{ op: 'replace', path: 'emails', value: [{ value: `new-${p.email}`, primary: true }] }],
    }),
  });
const suspend = (p: Person) => p.t.call('PATCH', `/users/${p.id}`, { as: admin, body: { status: 'suspended' } });
const remove = (p: Person) => p.t.call('DELETE', `/users/${p.id}`, { as: admin });

/** Returns the addresses to which a request sends mail that waits while `end` changes the account. */
async function mailedAfter(p: Person, end: () => Promise<Answered>, path: string): Promise<string[]> {
  const before = p.box.mails.length;
  const ask = () => p.t.call('POST', path, { body: { email: p.email } });
  const answers = await inTurn(p.t, end, ask);
  for (const { status } of answers) expect(status).toBeLessThan(300);
  await p.t.legate.platform.background.idle();
  await p.t.legate.platform.mailer.idle();
  return p.box.mails.slice(before).flatMap(({ to }) => to);
}

const ends: [string, (p: Person) => Promise<Answered>][] = [
  ['got another address', readdress],
  ['was suspended', suspend],
  ['was deleted', remove],
];

describe.each(ends)('an account that %s while a mail waits', (_what, end) => {
  it.each(['/magic-link', '/email-otp', '/password/forgot'])('gets none by POST %s', async (path) => {
    const p = await verified(await signedUp(await shared()));
    expect(await mailedAfter(p, () => end(p), path)).toEqual([]);
  });
});

it('the mail that verifies an address is not sent to one that the account got meanwhile', async () => {
  const p = await signedUp(await shared());
  const tenantId = await p.t.tenant();
  await p.t.call('PATCH', `/users/${p.id}`, { as: admin, body: { tenantId } });
  const scim = await p.t.apiToken((await p.t.user({ role: 'admin', tenantId })).id, ['scim']);
  expect(await mailedAfter(p, () => readdress(p, scim), '/verify-email/send')).toEqual([]);
  expect((await p.t.call('GET', `/users/${p.id}`, { as: admin })).body.emailVerified).toBe(false);
});
