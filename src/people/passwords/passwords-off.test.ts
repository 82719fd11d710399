import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

const PASSWORD = 'correct horse battery staple';
const post = (t: TestService, path: string, body: Json, as?: { token: string }) =>
  t.call('POST', path, { body, ...(as ? { as } : {}) });

/** A service in which an administrator and a user have set passwords before `passwords` was set. */
async function createScene(passwords: 'off' | 'adminsOnly') {
  const before = await createTestService({ lasting: true });
  const signUp = async (email: string) => (await post(before, '/sign-up', { email, password: PASSWORD })).body;
  const [boss, user] = [await signUp('boss@example.com'), await signUp('user@example.com')];
  await before.legate.platform.database.write
    .updateTable('users')
    .set({ role: 'admin' })
    .where('id', '=', boss.user.id)
    .execute();
  const t = await createTestService({
    lasting: true,
    sameDatabaseAs: before,
    config: { users: { passwords, signUp: 'open' } },
  });
  return { t, boss, user };
}
const codeOf = (r: { readonly status: number; readonly body: Json }): string => r.body.error?.code ?? String(r.status);

describe.each(['off', 'adminsOnly'] as const)('users.passwords = %s', (passwords) => {
  let scene: Awaited<ReturnType<typeof createScene>>;
  beforeAll(async () => {
    scene = await createScene(passwords);
  });
  const forAdmins = passwords === 'off' ? 'PASSWORDS_OFF' : '200';

  it('refuses sign-ins with a password, without revealing whether a guess is right', async () => {
    const { t } = scene;
    const signIn = async (email: string, password: string) => codeOf(await post(t, '/sign-in', { email, password }));
    expect(await signIn('boss@example.com', PASSWORD)).toBe(forAdmins);
    expect(await signIn('user@example.com', PASSWORD)).toBe('PASSWORDS_OFF');
    const wrong = passwords === 'off' ? 'PASSWORDS_OFF' : 'INVALID_EMAIL_OR_PASSWORD';
    for (const email of ['boss@example.com', 'user@example.com', 'nobody@example.com'])
      expect(await signIn(email, 'another password')).toBe(wrong);
  });

  it('refuses to create accounts with a password, except invited administrators', async () => {
    const { t, boss } = scene;
    const create = (email: string, more: Json = {}) => post(t, '/sign-up', { email, password: PASSWORD, ...more });
    expect(codeOf(await create('new@example.com'))).toBe('PASSWORDS_OFF');
    for (const [role, expected] of [
      ['user', 'PASSWORDS_OFF'],
      ['admin', forAdmins],
    ] as const) {
      const email = `${role}-invited@example.com`;
      const { body } = await post(t, '/invites', { email, role }, { token: boss.token });
      const inviteToken = new URL(body.url).searchParams.get('invite');
      expect(codeOf(await create(email, { inviteToken }))).toBe(expected);
    }
  });

  it('refuses to change and to set passwords', async () => {
    const { t, boss, user } = scene;
    const change = { currentPassword: PASSWORD, newPassword: 'another horse battery staple' };
    expect(codeOf(await post(t, '/password/change', change, { token: user.token }))).toBe('PASSWORDS_OFF');
    expect(codeOf(await post(t, '/password/change', change, { token: boss.token }))).toBe(forAdmins);
    const { read } = t.legate.platform.database;
    const answers = [];
    for (const email of ['user@example.com', 'nobody@example.com'])
      answers.push(await post(t, '/password/forgot', { email }));
    await t.legate.platform.background.idle();
    expect(answers[0]?.text).toBe(answers[1]?.text);
    const links = read.selectFrom('one_time_tokens').selectAll().where('purpose', '=', 'password-reset');
    expect(await links.where('user_id', '=', user.user.id).execute()).toEqual([]);
  });

  it('shows the remaining methods on the sign-in page', async () => {
    const { t } = scene;
    const { text } = await new FormClient(t).get('/account/sign-in');
    expect(text.includes('name="password"')).toBe(passwords === 'adminsOnly');
    expect(text).not.toContain('/account/sign-up');
    const page = await new FormClient(t).post('/account/sign-in', { email: 'user@example.com', password: PASSWORD });
    expect([page.status, page.text.includes('Sign-in with a password is switched off.')]).toEqual([403, true]);
  });
});
