import { describe, expect, it } from 'vitest';
import { createTestService } from '../../test/support/service.ts';

const HTML = { headers: { accept: 'text/html' } };

describe('GET /console', () => {
  it('redirects callers without a session to the sign-in page, and from there back to the screen', async () => {
    const t = await createTestService();
    const r = await t.call('GET', '/console/audit?q=result%3Adenied', HTML);
    expect([r.status, r.headers.get('location')]).toEqual([
      303,
      `/account/sign-in?returnTo=${encodeURIComponent('/console/audit?q=result%3Adenied')}`,
    ]);
  });

  it('returns the same page at each address, with a policy that requires Trusted Types', async () => {
    const t = await createTestService();
    const { token } = await t.user();
    const [start, screen] = [
      await t.call('GET', '/console', { ...HTML, as: token }),
      await t.call('GET', '/console/agents/agt_x/history', { ...HTML, as: token }),
    ];
    const slash = await t.call('GET', '/console/', { ...HTML, as: token });
    expect([start.status, slash.status, screen.status]).toEqual([200, 200, 200]);
    expect([slash.text, screen.text]).toEqual([start.text, start.text]);
    const policy = start.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
    expect(policy).toMatch(/script-src https?:\/\/\S+\/console\/assets\/[; ]/);
    expect(policy).not.toContain('unsafe');
    expect(start.headers.get('cache-control')).toBe('no-store');
  });

  it('is linked from the start page and the account page', async () => {
    const t = await createTestService();
    const { token } = await t.user();
    for (const path of ['/', '/account'])
      expect((await t.call('GET', path, { ...HTML, as: token })).text, path).toContain('href="/console"');
    const off = await createTestService({ config: { console: { enabled: false } } });
    const other = await off.user();
    for (const path of ['/', '/account']) {
      const { text } = await off.call('GET', path, { ...HTML, as: other.token });
      expect(text, path).not.toContain('href="/console');
      // The pages use the fonts of the console, whether the console is built or not.
      for (const [, font] of text.matchAll(/url\((\/console\/assets\/[^)]+\.woff2)\)/g))
        expect((await off.call('GET', font as string)).status, font).toBe(200);
    }
  });

  it('refuses agents', async () => {
    const t = await createTestService();
    const user = await t.user();
    const { token } = await t.agent(user);
    expect((await t.call('GET', '/console', { as: token })).status).toBe(403);
  });

  it('does not exist if console.enabled is false', async () => {
    const t = await createTestService({ config: { console: { enabled: false } } });
    const { token } = await t.user();
    for (const path of ['/console', '/console/audit', '/console/assets/main.js'])
      expect((await t.call('GET', path, { as: token })).status, path).toBe(404);
  });

  it('serves no file outside of its folder', async () => {
    const t = await createTestService();
    for (const name of ['..%2Fmanifest.json', '%2Fetc%2Fpasswd', 'none.js'])
      expect((await t.call('GET', `/console/assets/${name}`)).status, name).toBe(404);
  });
});
