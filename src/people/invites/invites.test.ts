import { describe, expect, it } from 'vitest';
import { PASSWORD, withMailbox } from '../../../test/support/people.ts';
import { createTestService } from '../../../test/support/service.ts';

const shared = withMailbox({ config: { users: { signUp: 'invite', requireEmailVerification: true } } });
let count = 0;
const address = () => `invited${++count}@example.com`;

async function invite(body: object) {
  const { t } = await shared();
  const admin = await t.admin();
  const r = await t.call('POST', '/invites', { as: admin, body });
  return { t, admin, r, token: r.status === 201 ? (new URL(r.body.url).searchParams.get('invite') ?? '') : '' };
}
const accept = async (email: string, inviteToken?: string) =>
  (await shared()).t.call('POST', '/sign-up', {
    body: { email, password: PASSWORD, ...(inviteToken === undefined ? {} : { inviteToken }) },
  });

describe('POST /invites', () => {
  it('201: mails the link, shows it once, and stores its hash', async () => {
    const email = address();
    const { t, admin, r, token } = await invite({ email });
    expect(r.status).toBe(201);
    expect(r.body).toEqual({
      id: expect.stringMatching(/^inv_/),
      email,
      role: 'user',
      tenantId: null,
      invitedBy: admin.id,
      createdAt: expect.any(String),
      expiresAt: expect.any(String),
      url: `http://localhost:3000/account/sign-up?invite=${token}&email=${encodeURIComponent(email)}`,
    });
    expect(Date.parse(r.body.expiresAt) - Date.parse(r.body.createdAt)).toBe(7 * 86_400_000);
    const { box } = await shared();
    expect((await box.next(email)).text).toContain(r.body.url);
    const { url: _, ...shown } = r.body;
    const listed = await t.call('GET', '/invites', { as: admin });
    expect(listed.body).toContainEqual(shown);
    expect(listed.text).not.toContain(token);
    expect(
      JSON.stringify(await t.legate.platform.database.read.selectFrom('invites').selectAll().execute()),
    ).not.toContain(token.slice(4));
  });

  it('400, 422 for an address in use and an unknown tenant, 409 where sign-up is closed', async () => {
    for (const email of ['', 'x', 'a@example.com\r\nBcc: b@example.com'])
      expect((await invite({ email })).r.body.error.details.issues[0].path).toBe('email');
    const { t } = await shared();
    const user = await t.user();
    expect((await invite({ email: user.email.toUpperCase() })).r.body.error.code).toBe('EMAIL_IN_USE');
    expect((await invite({ email: address(), tenantId: 'tnt_x' })).r.body.error.code).toBe('TENANT_UNKNOWN');
    const closed = await createTestService({ config: { users: { signUp: 'closed' } } });
    expect(
      (await closed.call('POST', '/invites', { as: await closed.admin(), body: { email: address() } })).body.error.code,
    ).toBe('INVITES_CLOSED');
  });

  it('returns the link without mail too, even in production', async () => {
    const t = await createTestService({ production: true, config: { users: { signUp: 'invite' } } });
    const email = address();
    const { body } = await t.call('POST', '/invites', { as: await t.admin(), body: { email, role: 'admin' } });
    const inviteToken = new URL(body.url).searchParams.get('invite');
    expect(
      (await t.call('POST', '/sign-up', { body: { email, password: PASSWORD, inviteToken } })).body.user.role,
    ).toBe('admin');
  });
});

describe('accepting an invitation', () => {
  it('200: role and tenant of the invitation, a verified address, and a session', async () => {
    const { t } = await shared();
    const email = address();
    const tenantId = await t.tenant();
    const { token } = await invite({ email, role: 'admin', tenantId });
    const r = await accept(email.toUpperCase(), token);
    expect(r.status).toBe(200);
    expect(r.body).toEqual({
      token: expect.stringMatching(/^lgs_/),
      user: expect.objectContaining({ role: 'admin', tenantId, emailVerified: true }),
    });
    const again = await accept(email, token);
    expect([again.status, again.body.error.code]).toEqual([403, 'INVITE_INVALID']);
  });

  it('exactly one of 20 concurrent requests creates the account', async () => {
    const email = address();
    const { token } = await invite({ email });
    const all = await Promise.all(Array.from({ length: 20 }, () => accept(email, token)));
    expect(all.map((r) => r.status).sort()).toEqual([200, ...Array(19).fill(403)]);
  });

  it('403 without an invitation, for another address, after 7 days, and when withdrawn or replaced', async () => {
    const { t } = await shared();
    const email = address();
    expect((await accept(email)).body.error.code).toBe('INVITE_REQUIRED');
    const first = await invite({ email });
    expect((await accept(address(), first.token)).body.error.code).toBe('INVITE_INVALID');
    const second = await invite({ email: email.toUpperCase() });
    expect((await accept(email, first.token)).body.error.code).toBe('INVITE_INVALID');
    expect((await t.call('DELETE', `/invites/${second.r.body.id}`, { as: second.admin })).status).toBe(204);
    expect((await t.call('DELETE', `/invites/${second.r.body.id}`, { as: second.admin })).body.error.code).toBe(
      'INVITE_NOT_FOUND',
    );
    expect((await accept(email, second.token)).body.error.code).toBe('INVITE_INVALID');
    const third = await invite({ email });
    t.clock.advance(7 * 86_400_000);
    for (const token of [third.token, '', 'x', '\u0000', `lgo_${'x'.repeat(49)}`])
      expect((await accept(email, token)).body.error.code).toBe('INVITE_INVALID');
  });

  it('403 after the inviting administrator lost the role or was deleted', async () => {
    for (const end of [
      ({ t, admin }: Awaited<ReturnType<typeof invite>>, root: string) =>
        t.call('PATCH', `/users/${admin.id}`, { as: root, body: { role: 'user' } }),
      ({ t, admin }: Awaited<ReturnType<typeof invite>>, root: string) =>
        t.call('DELETE', `/users/${admin.id}`, { as: root }),
    ]) {
      const email = address();
      const invited = await invite({ email, role: 'admin' });
      const root = await invited.t.admin();
      expect((await end(invited, root.token)).status).toBeLessThan(300);
      expect((await accept(email, invited.token)).body.error.code).toBe('INVITE_INVALID');
      expect(JSON.stringify((await invited.t.call('GET', '/invites', { as: root })).body)).not.toContain(email);
    }
  });

  it('403 after the inviting administrator lost the role by another path', async () => {
    const email = address();
    const { t, admin, token } = await invite({ email, role: 'admin' });
    const write = t.legate.platform.database.write;
    await write.updateTable('users').set({ role: 'user' }).where('id', '=', admin.id).execute();
    expect((await accept(email, token)).body.error.code).toBe('INVITE_INVALID');
    await write.deleteFrom('users').where('id', '=', admin.id).execute();
    expect((await accept(email, token)).body.error.code).toBe('INVITE_INVALID');
  });

  it('200 if an administrator of the embedding application invited', async () => {
    const t = await createTestService({
      config: { users: { signUp: 'invite' } },
      authenticate: (request) =>
        request.headers.get('x-app-user') === 'boss' ? { userId: 'boss', role: 'admin' } : null,
    });
    const email = address();
    const invited = await t.call('POST', '/invites', { headers: { 'x-app-user': 'boss' }, body: { email } });
    const inviteToken = new URL(invited.body.url).searchParams.get('invite');
    expect((await t.call('POST', '/sign-up', { body: { email, password: PASSWORD, inviteToken } })).status).toBe(200);
  });

  it('403 after the administrator of the embedding application who invited was suspended', async () => {
    const t = await createTestService({
      config: { users: { signUp: 'invite' } },
      authenticate: (request) =>
        request.headers.get('x-app-user') === 'boss' ? { userId: 'boss', role: 'admin' } : null,
    });
    const email = address();
    const as = { headers: { 'x-app-user': 'boss' } };
    expect((await t.call('GET', '/auth/session', as)).status).toBe(200);
    const invited = await t.call('POST', '/invites', { ...as, body: { email, role: 'admin' } });
    const inviteToken = new URL(invited.body.url).searchParams.get('invite');
    const root = await t.admin();
    for (const status of ['suspended', 'active'])
      expect((await t.call('PATCH', '/users/boss', { as: root, body: { status } })).status).toBe(200);
    const r = await t.call('POST', '/sign-up', { body: { email, password: PASSWORD, inviteToken } });
    expect([r.status, r.body.error?.code]).toEqual([403, 'INVITE_INVALID']);
    expect((await t.call('GET', '/invites', { as: root })).body).toEqual([]);
  });
});

describe('the page of an invitation', () => {
  it('says before the form is filled in that the invitation was used, withdrawn, or is too old', async () => {
    const { t } = await shared();
    const page = (token: string) =>
      t.call('GET', `/account/sign-up?invite=${token}`, { headers: { accept: 'text/html', 'accept-language': 'de' } });
    const email = address();
    const used = await invite({ email });
    expect((await page(used.token)).text).toContain('name="password"');
    expect((await accept(email, used.token)).status).toBe(200);
    const old = await invite({ email: address() });
    t.clock.advance(7 * 86_400_000);
    for (const token of [used.token, old.token, 'x']) {
      const { status, text } = await page(token);
      expect([status, text.includes('Diese Einladung ist nicht mehr gültig')]).toEqual([403, true]);
      expect(text).not.toContain('name="password"');
    }
  });
});
