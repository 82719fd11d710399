import { describe, expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';

const ada = { email: 'ada@example.com', password: 'correct horse battery' };

describe('POST /sign-up', () => {
  describe('200', () => {
    it('creates the account and signs in, with the token also as a cookie', async () => {
      const t = await createTestService();
      const r = await t.call('POST', '/sign-up', { body: { ...ada, name: 'Ada' } });
      expect(r.status).toBe(200);
      expect(r.body).toEqual({
        token: expect.stringMatching(/^lgs_[A-Za-z0-9_-]{49}$/),
        user: {
          id: expect.stringMatching(/^usr_[0-9a-z]{26}$/),
          email: 'ada@example.com',
          name: 'Ada',
          role: 'user',
          status: 'active',
          emailVerified: false,
          twoFactorEnabled: false,
          tenantId: null,
          createdAt: '2030-01-15T10:10:00.000Z',
          updatedAt: '2030-01-15T10:10:00.000Z',
        },
      });
      expect(r.headers.get('cache-control')).toBe('no-store');
      const name = `${t.database.name}_session`;
      expect(r.headers.getSetCookie()[0]).toBe(
        `${name}=${r.body.token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000`,
      );
      expect((await t.call('GET', '/auth/session', { as: r.body.token })).body.user).toEqual(r.body.user);
      expect(
        (await t.call('GET', '/auth/session', { headers: { cookie: `a=b; ${name}=${r.body.token}` } })).body.user,
      ).toEqual(r.body.user);
    });

    it('on https the cookie is Secure and bound to the host', async () => {
      const t = await createTestService({ config: { baseUrl: 'https://legate.example' } });
      const r = await t.call('POST', '/sign-up', { body: ada });
      expect(r.headers.getSetCookie()[0]).toBe(
        `__Host-${t.database.name}_session=${r.body.token}; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=2592000`,
      );
    });

    it('stores neither password nor token', async () => {
      const t = await createTestService();
      const r = await t.call('POST', '/sign-up', { body: ada });
      const { read } = t.legate.platform.database;
      const user = await read.selectFrom('users').selectAll().executeTakeFirstOrThrow();
      expect(user.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
      const stored = JSON.stringify([user, await read.selectFrom('sessions').selectAll().execute()]);
      expect(stored).not.toContain(ada.password);
      expect(stored).not.toContain(r.body.token.slice(4));
    });

    it('accepts any characters in a password, up to 1,024 bytes, and uses all of them', async () => {
      const t = await createTestService();
      const passwords = ['pässwörd', '🔑🗝🔒🔓🔏🔐🚪🏠', 'nul\u0000nul\u0000', `${'x'.repeat(1023)}a`, '        '];
      for (const [i, password] of passwords.entries()) {
        const email = `p${i}@example.com`;
        expect((await t.call('POST', '/sign-up', { body: { email, password } })).status).toBe(200);
        expect((await t.call('POST', '/sign-in', { body: { email, password } })).status).toBe(200);
        expect(
          (await t.call('POST', '/sign-in', { body: { email, password: `${password.slice(0, -1)}b` } })).status,
        ).toBe(401);
      }
      expect(
        (await t.call('POST', '/sign-in', { body: { email: 'p0@example.com', password: 'pässwörd'.normalize('NFD') } }))
          .status,
      ).toBe(200);
      expect((await t.call('POST', '/sign-in', { body: { email: 'p2@example.com', password: 'nul' } })).status).toBe(
        401,
      );
    });

    it('accepts an international address, and removes spaces around it', async () => {
      const t = await createTestService();
      const r = await t.call('POST', '/sign-up', { body: { ...ada, email: ` Jose\u0301@bücher.example\n` } });
      expect(r.body.user.email).toBe('José@bücher.example');
    });
  });

  describe('400', () => {
    const bad: [string, unknown, string][] = [
      ['no e-mail address', { password: ada.password }, 'email'],
      ['no password', { email: ada.email }, 'password'],
      ['a password of 7 characters', { ...ada, password: '🔑🗝🔒🔓🔏🔐🚪' }, 'password'],
      ['a password of 1,025 bytes', { ...ada, password: `${'ä'.repeat(512)}x` }, 'password'],
      ['a password with an unpaired surrogate', { ...ada, password: '12345678\ud800' }, 'password'],
      ['a password that is a number', { ...ada, password: 12345678 }, 'password'],
      ['a role', { ...ada, role: 'admin' }, 'role'],
      ['an empty name', { ...ada, name: '' }, 'name'],
      ['a name with NUL', { ...ada, name: 'a\u0000' }, 'name'],
      ...[
        '',
        'ada',
        'ada@',
        '@example.com',
        'a@b',
        'a b@example.com',
        'a@b@example.com',
        'a\u0000@example.com',
        'a\r\nBcc: x@example.com',
        `${'a'.repeat(65)}@example.com`,
        'a@-x.com',
        'a..b@example.com',
      ].map((email): [string, unknown, string] => [`the address ${JSON.stringify(email)}`, { ...ada, email }, 'email']),
    ];
    it.each(bad)('%s', async (_, body, path) => {
      const t = await createTestService();
      const r = await t.call('POST', '/sign-up', { body });
      expect(r.status).toBe(400);
      expect(r.body.error.code).toBe('VALIDATION_FAILED');
      expect(r.body.error.details.issues[0].path).toBe(path);
      expect(r.text).not.toContain(ada.password);
    });
  });

  describe('403', () => {
    it('SIGN_UP_CLOSED where sign-up is closed, as it is in production by default', async () => {
      for (const t of [
        await createTestService({ config: { users: { signUp: 'closed' } } }),
        await createTestService({ production: true }),
      ]) {
        const r = await t.call('POST', '/sign-up', { body: ada });
        expect(r.status).toBe(403);
        expect(r.body.error.code).toBe('SIGN_UP_CLOSED');
        expect(r.headers.get('set-cookie')).toBeNull();
      }
    });
  });

  it('415 for a form, which a page of another site could send', async () => {
    const t = await createTestService();
    const r = await t.call('POST', '/sign-up', {
      raw: 'email=a@example.com&password=12345678',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(r.status).toBe(415);
  });

  describe('422', () => {
    it('EMAIL_IN_USE for the same address in another spelling', async () => {
      const t = await createTestService();
      await t.call('POST', '/sign-up', { body: { ...ada, email: 'josé@example.com' } });
      for (const email of ['josé@example.com', 'JOSÉ@EXAMPLE.COM', ' jose\u0301@example.com ']) {
        const r = await t.call('POST', '/sign-up', { body: { ...ada, email } });
        expect(r.status).toBe(422);
        expect(r.body.error.code).toBe('EMAIL_IN_USE');
      }
    });

    it('exactly one of 50 concurrent sign-ups with one address succeeds', async () => {
      const t = await createTestService();
      const all = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          t.call('POST', '/sign-up', { body: { ...ada, email: i % 2 ? ada.email : 'ADA@example.com' } }),
        ),
      );
      expect(all.map((r) => r.status).sort()).toEqual([200, ...Array(49).fill(422)]);
      expect(await t.legate.platform.database.read.selectFrom('users').select('id').execute()).toHaveLength(1);
      expect(await t.legate.platform.database.read.selectFrom('sessions').select('id').execute()).toHaveLength(1);
    });
  });
});
