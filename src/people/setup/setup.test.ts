import { describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';
import { ensureFirstAdmin } from '../users/index.ts';

const root = { email: 'root@example.com', password: 'correct horse battery' };

async function withLink(
  config: Parameters<typeof createTestService>[0] = {},
): Promise<{ t: TestService; token: string; url: string }> {
  const t = await createTestService(config);
  const first = await ensureFirstAdmin(t.legate.platform);
  if (first.kind !== 'setupLink') throw new Error(`expected a link, got ${first.kind}`);
  return { t, url: first.url, token: new URL(first.url).searchParams.get('token') ?? '' };
}
const form = (fields: Record<string, string>) => ({
  raw: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
});

describe('ensureFirstAdmin', () => {
  it('creates the configured administrator once', async () => {
    const t = await createTestService({ config: { admin: root } });
    expect(t.legate.firstAdmin).toEqual({ kind: 'created', email: root.email });
    const again = await createTestService({ config: { admin: root }, sameDatabaseAs: t });
    expect(again.legate.firstAdmin).toEqual({ kind: 'exists', admin: true });
    expect(await ensureFirstAdmin(t.legate.platform)).toEqual({ kind: 'exists', admin: true });
    const r = await t.call('POST', '/sign-in', { body: root });
    expect([r.status, r.body.user.role]).toEqual([200, 'admin']);
  });

  it('creates no account if only one of the two options is set', async () => {
    for (const admin of [{ email: root.email }, { password: root.password }]) {
      const t = await createTestService({ config: { admin } });
      expect(t.legate.firstAdmin).toBeUndefined();
      expect((await ensureFirstAdmin(t.legate.platform)).kind).toBe('setupLink');
    }
  });

  it('refuses values that sign-up would refuse', async () => {
    const wrong = { admin: { email: 'root@localhost', password: '1234567' } };
    await expect(createTestService({ config: wrong })).rejects.toThrow(
      /admin\.email.*must be an e-mail address.*admin\.password.*at least 8 characters/s,
    );
  });

  it('exactly one of several starting instances creates it', async () => {
    const t = await createTestService();
    const second = await createTestService({ sameDatabaseAs: t });
    const configured = [t, second, t, second].map(({ legate: { platform } }) => ({
      ...platform,
      config: { ...platform.config, admin: root },
    }));
    const kinds = (await Promise.all(configured.map((platform) => ensureFirstAdmin(platform)))).map((f) => f.kind);
    expect(kinds.sort()).toEqual(['created', 'exists', 'exists', 'exists']);
    expect(await t.legate.platform.database.read.selectFrom('users').select('id').execute()).toHaveLength(1);
  });

  it('returns a link under the base URL and stores only its hash', async () => {
    const { t, url, token } = await withLink({ config: { baseUrl: 'https://legate.example' } });
    expect(url).toMatch(/^https:\/\/legate\.example\/setup\?token=lgu_[A-Za-z0-9_-]{49}$/);
    expect(
      JSON.stringify(await t.legate.platform.database.read.selectFrom('setup_links').selectAll().execute()),
    ).not.toContain(token.slice(4));
  });

  it('returns no link once there is a user; records without credentials do not count', async () => {
    const t = await createTestService({ authenticate: () => ({ userId: 'ext-1' }) });
    await t.call('GET', '/auth/session');
    expect((await ensureFirstAdmin(t.legate.platform)).kind).toBe('setupLink');
    await t.user();
    expect(await ensureFirstAdmin(t.legate.platform)).toEqual({ kind: 'exists', admin: false });
  });
});

describe('GET /setup', () => {
  it('200: a form that works without scripts and cannot be framed', async () => {
    const { t, token } = await withLink();
    const r = await t.call('GET', `/setup?token=${token}`);
    expect(r.status).toBe(200);
    expect(r.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(r.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(r.headers.get('referrer-policy')).toBe('no-referrer');
    expect(r.headers.get('cache-control')).toBe('no-store');
    expect(r.text).toContain(`<input type="hidden" name="token" value="${token}">`);
    expect(r.text).not.toContain('<script');
  });

  it('410 with a page without a token, with a wrong one and after 15 minutes; the page repeats no input', async () => {
    const { t, token } = await withLink();
    t.clock.advance(15 * 60_000 - 1);
    expect((await t.call('GET', `/setup?token=${token}`)).status).toBe(200);
    t.clock.advance(1);
    for (const query of ['', '?token=', '?token=%3Cscript%3E', `?token=${token}`]) {
      const r = await t.call('GET', `/setup${query}`);
      expect(r.status).toBe(410);
      expect(r.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(r.text).toContain('15 minutes');
      expect(r.text).not.toContain('<form');
      expect(r.text).not.toContain('<script');
    }
  });
});

describe('POST /setup', () => {
  it('200 for JSON: creates the administrator, signs in, and consumes the link', async () => {
    const { t, token } = await withLink({ production: true });
    const r = await t.call('POST', '/setup', { body: { token, ...root } });
    expect(r.status).toBe(200);
    expect(r.body.user).toMatchObject({ email: root.email, role: 'admin' });
    expect(r.headers.get('set-cookie')).toContain(`${t.database.name}_session=${r.body.token};`);
    expect((await t.call('GET', '/users', { as: r.body.token })).status).toBe(200);
    const again = await t.call('POST', '/setup', { body: { token, email: 'b@example.com', password: root.password } });
    expect([again.status, again.body.error.code]).toEqual([410, 'SETUP_LINK_INVALID']);
    expect((await t.call('GET', `/setup?token=${token}`)).status).toBe(410);
  });

  it('says for JSON that a second factor must be set up', async () => {
    for (const requireSecondFactor of ['admins', 'none'] as const) {
      const { t, token } = await withLink({ config: { users: { requireSecondFactor } } });
      const { body } = await t.call('POST', '/setup', { body: { token, ...root } });
      const required = requireSecondFactor === 'admins' ? true : undefined;
      expect([body.user.role, body.secondFactorSetupRequired]).toEqual(['admin', required]);
    }
  });

  it('200 for a form: answers with a page and the cookie', async () => {
    const { t, token } = await withLink();
    const r = await t.call('POST', '/setup', form({ token, ...root, email: 'o&apos@example.com' }));
    expect(r.status).toBe(200);
    expect(r.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(r.text).toContain('o&amp;apos@example.com');
    const cookie = r.headers.get('set-cookie')?.split(';')[0] ?? '';
    expect((await t.call('GET', '/auth/session', { headers: { cookie } })).body.user.role).toBe('admin');
  });

  it('exactly one of 50 concurrent requests succeeds, and all other links end', async () => {
    const { t, token } = await withLink();
    const second = await ensureFirstAdmin(t.legate.platform);
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        t.call('POST', '/setup', { body: { token, email: `root${i}@example.com`, password: root.password } }),
      ),
    );
    expect(all.map((r) => r.status).sort()).toEqual([200, ...Array(49).fill(410)]);
    expect(await t.legate.platform.database.read.selectFrom('users').select('id').execute()).toHaveLength(1);
    const other = second.kind === 'setupLink' ? new URL(second.url) : undefined;
    expect((await t.call('GET', `${other?.pathname}${other?.search}`)).status).toBe(410);
  });

  describe('400', () => {
    it.each([
      [{ email: 'no address' }, 'email'],
      [{ password: 'short' }, 'password'],
      [{ role: 'admin' }, 'role'],
      [{ token: 1 }, 'token'],
    ])('for JSON: %j', async (wrong, path) => {
      const { t, token } = await withLink();
      const r = await t.call('POST', '/setup', { body: { token, ...root, ...wrong } });
      expect([r.status, r.body.error.details.issues[0].path]).toEqual([400, path]);
    });

    it('for a form: shows the page again, with the problem and the escaped input, but never the password', async () => {
      const { t, token } = await withLink();
      const r = await t.call('POST', '/setup', form({ token, email: '"><b>x', password: 'sekret!' }));
      expect(r.status).toBe(400);
      expect(r.text).toContain('role="alert"');
      expect(r.text).toContain('value="&quot;&gt;&lt;b&gt;x"');
      expect(r.text).not.toContain('sekret!');
      expect((await t.call('POST', '/setup', form({ token, ...root }))).status).toBe(200);
    });

    it('for a form: a repeated field', async () => {
      const { t, token } = await withLink();
      const { raw, headers } = form({ token, ...root });
      expect((await t.call('POST', '/setup', { raw: `${raw}&email=b%40example.com`, headers })).status).toBe(400);
    });
  });

  it('410 before any password is hashed, as page or as JSON', async () => {
    const { t } = await withLink();
    expect((await t.call('POST', '/setup', { body: { token: 'lgu_x', ...root } })).body.error.code).toBe(
      'SETUP_LINK_INVALID',
    );
    const r = await t.call('POST', '/setup', form({ token: 'lgu_x', ...root }));
    expect([r.status, r.headers.get('content-type')]).toEqual([410, 'text/html; charset=utf-8']);
  });

  it('415 for anything else', async () => {
    const { t, token } = await withLink();
    expect(
      (
        await t.call('POST', '/setup', {
          raw: JSON.stringify({ token, ...root }),
          headers: { 'content-type': 'text/plain' },
        })
      ).status,
    ).toBe(415);
  });

  it('410 as soon as there is an administrator who was created in another way', async () => {
    const { t, token } = await withLink();
    await t.call('POST', '/sign-up', { body: { ...root, email: 'first@example.com' } });
    expect((await t.call('GET', `/setup?token=${token}`)).status).toBe(200);
    await t.legate.users.create({ ...root, role: 'admin', emailVerified: true });
    expect((await t.call('GET', `/setup?token=${token}`)).status).toBe(410);
    const r = await t.call('POST', '/setup', { body: { token, ...root, email: 'second@example.com' } });
    expect([r.status, r.body.error.code]).toEqual([410, 'SETUP_LINK_INVALID']);
  });

  it('422 for an address in use; the link remains valid', async () => {
    const { t, token } = await withLink();
    await t.call('POST', '/sign-up', { body: root });
    const r = await t.call('POST', '/setup', { body: { token, ...root } });
    expect([r.status, r.body.error.code]).toEqual([422, 'EMAIL_IN_USE']);
    expect((await t.call('POST', '/setup', { body: { token, ...root, email: 'other@example.com' } })).status).toBe(200);
  });
});
