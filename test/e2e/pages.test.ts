import { generate } from 'otplib';
import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureFirstAdmin } from '../../src/people/users/index.ts';
import { chromiumPath, expectGoodPage, focusOn, PHONE, tabTo } from '../support/chromium.ts';
import { pagesService } from '../support/pages-service.ts';

const password = 'correct horse battery';

describe.skipIf(chromiumPath === undefined)('the pages in Chromium, without scripts, 320 px wide', () => {
  const service = pagesService();
  const { mails, open } = service;
  let url = '';
  let setupUrl = '';
  let people = 0;
  beforeAll(async () => {
    url = service.url;
    const first = await ensureFirstAdmin(service.legate.platform);
    setupUrl = first.kind === 'setupLink' ? first.url : '';
  });

  const newEmail = (): string => `person${++people}@example.com`;
  const api = async (path: string, body: unknown, token?: string) => {
    const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const r = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await r.json()) as {
      token: string;
      secret: string;
      client_id: string;
      approvalId: string;
      user: { id: string };
    };
  };
  const inSight = async (page: Page, target: Locator): Promise<boolean> => {
    const box = await target.boundingBox();
    return box !== null && box.y >= 0 && box.y + box.height <= (page.viewportSize()?.height ?? 0);
  };
  it('by keyboard: a person signs up, adds a second device, ends one, signs out, and signs in again', async () => {
    const email = newEmail();
    const { page, context, complaints } = await open();
    await page.goto(`${url}/account/devices`);
    expect(new URL(page.url()).pathname).toBe('/account/sign-in');
    await focusOn(page, 'email');
    await tabTo(page, 'Create an account');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/account/sign-up*');
    await tabTo(page, 'Name');
    await page.keyboard.type('Ada Lovelace');
    await page.keyboard.press('Tab');
    await page.keyboard.type(email);
    await page.keyboard.press('Tab');
    await page.keyboard.type('short');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.summary');
    // The summary has the focus, its line links to the field, and the input is kept.
    await focusOn(page, 'summary');
    expect(await page.title()).toMatch(/^Error: /);
    expect(await page.inputValue('#email')).toBe(email);
    expect(await page.inputValue('#password')).toBe('');
    await tabTo(page, 'Enter a password');
    await page.keyboard.press('Enter');
    await focusOn(page, 'password');
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/account/devices');
    await api('/sign-in', { email, password });
    await page.reload();
    await tabTo(page, 'Sign out node');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/account/devices?done=ended');
    expect(await page.getByRole('status').textContent()).toBe('The device was signed out.');
    expect(await page.locator('.card').count()).toBe(1);
    await tabTo(page, 'Sign out here');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/account/sign-in?done=signed-out');
    await focusOn(page, 'email');
    await page.keyboard.type(email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/account');
    await tabTo(page, 'Sign out');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/account/sign-in?done=signed-out');
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('each page is accessible, in both colour schemes and languages', async () => {
    const email = newEmail();
    const { token } = await api('/sign-up', { email, password });
    const { page, context, complaints } = await open({ javaScriptEnabled: true });
    await page.goto(setupUrl);
    await expectGoodPage(page, 'setup');
    await page.fill('#email', newEmail());
    await page.fill('#password', 'Grünkohl mit Pinkel');
    await page.press('#password', 'Enter');
    await page.waitForSelector('[role=status]');
    await expectGoodPage(page, 'setup-done');
    await page.getByRole('link', { name: 'Go to your account' }).click();
    await page.waitForURL('**/account');
    await expectGoodPage(page, 'account-verified');
    await context.clearCookies();
    for (const lang of ['en', 'de']) {
      await page.goto(`${url}/?lang=${lang}`);
      await expectGoodPage(page, `start-${lang}`);
      await page.goto(`${url}/account/sign-in?lang=${lang}`);
      expect(await page.getAttribute('html', 'lang')).toBe(lang);
      await expectGoodPage(page, `sign-in-${lang}`);
      await page.fill('#email', email);
      await page.fill('#password', 'wrong password');
      await page.press('#password', 'Enter');
      await page.waitForSelector('.summary');
      await expectGoodPage(page, `sign-in-wrong-${lang}`);
    }
    await page.goto(`${url}/account/sign-up`);
    await expectGoodPage(page, 'sign-up');
    await page.press('#email', 'Enter');
    await page.waitForSelector('.summary');
    await expectGoodPage(page, 'sign-up-wrong');

    const { secret } = await api('/totp/enable', { password }, token);
    await api('/totp/verify', { code: await generate({ secret }) }, token);
    await page.goto(`${url}/account/sign-in?lang=en`);
    await page.fill('#email', email);
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    await page.waitForURL('**/account/second-factor');
    await expectGoodPage(page, 'second-factor');
    await page.fill('#code', '000000');
    await page.press('#code', 'Enter');
    await page.waitForSelector('.summary');
    await expectGoodPage(page, 'second-factor-wrong');
    // The code of this period was used for the set-up; the next one is accepted too.
    await page.fill('#code', await generate({ secret, epoch: Math.floor(Date.now() / 1000) + 30 }));
    await page.press('#code', 'Enter');
    await page.waitForURL('**/account');
    await expectGoodPage(page, 'account');
    await page.goto(`${url}/account/devices`);
    await expectGoodPage(page, 'devices');
    await page.setViewportSize({ width: 1280, height: 800 });
    await expectGoodPage(page, 'devices-wide');
    await page.goto(`${url}/account`);
    await expectGoodPage(page, 'account-wide');
    await page.goto(`${url}/account/sign-in`);
    await expectGoodPage(page, 'sign-in-already-wide');
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('the pages that links in mails open are accessible', async () => {
    const email = newEmail();
    await api('/sign-up', { email, password });
    const { page, context, complaints } = await open({ javaScriptEnabled: true });
    const mailed = async (path: string, name: string): Promise<string> => {
      mails.length = 0;
      await page.goto(`${url}${path}`);
      await expectGoodPage(page, name);
      await page.fill('#email', email);
      await page.press('#email', 'Enter');
      await page.waitForSelector('[role=status]');
      await expectGoodPage(page, `${name}-sent`);
      await service.legate.platform.background.idle();
      return mails[0]?.link ?? '';
    };
    await page.goto(await mailed('/account/forgot-password', 'forgot-password'));
    await expectGoodPage(page, 'reset-password');
    await page.fill('#newPassword', 'short');
    await page.press('#newPassword', 'Enter');
    await page.waitForSelector('.summary');
    await expectGoodPage(page, 'reset-password-wrong');
    await page.fill('#newPassword', `${password} anew`);
    await page.press('#newPassword', 'Enter');
    await page.waitForSelector('[role=status]');
    await expectGoodPage(page, 'reset-password-done');

    const link = await mailed('/account/magic-link', 'magic-link');
    await page.goto(link);
    await expectGoodPage(page, 'magic-link-confirm');
    await page.locator('main').getByRole('button').click();
    await page.waitForURL('**/account');
    await page.goto(link);
    await expectGoodPage(page, 'link-used');
    expect(await page.textContent('main')).toContain('This link is invalid');
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("sign-in and consent lead back to an application, although the page's policy restricts redirects", async () => {
    const email = newEmail();
    await api('/sign-up', { email, password });
    const callback = `http://127.0.0.1:${service.port}/callback`;
    const client = await api('/oauth/register', { redirect_uris: [callback], client_name: 'Agent of <b>Ada</b>' });
    const query = {
      response_type: 'code',
      client_id: client.client_id,
      redirect_uri: callback,
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      scope: 'mcp:read mcp:execute agents:read',
    };
    const { page, context, complaints } = await open({ javaScriptEnabled: true });
    await page.route(`${callback}*`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<title>back</title>' }),
    );
    await page.goto(`${url}/api/legate/oauth/authorize?${new URLSearchParams(query)}`);
    await page.fill('#email', email);
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    await page.waitForURL('**/oauth/authorize/consent?*');
    await expectGoodPage(page, 'consent');
    await page.setViewportSize({ width: 1280, height: 800 });
    await expectGoodPage(page, 'consent-wide');
    // The button to deny is as prominent as the one to allow, and comes first.
    const buttons = await page
      .getByRole('button')
      .evaluateAll((all) =>
        all.map((b) =>
          [b.getBoundingClientRect().width, getComputedStyle(b).backgroundColor, getComputedStyle(b).color].join(),
        ),
      );
    expect(new Set(buttons).size).toBe(1);
    await page.setViewportSize(PHONE);
    await page.getByRole('button').last().click();
    await page.waitForURL(`${callback}?*`);
    const code = new URL(page.url()).searchParams.get('code') ?? '';
    const grant = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      client_id: client.client_id,
      code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
    };
    expect((await fetch(`${url}/oauth/token`, { method: 'POST', body: new URLSearchParams(grant) })).status).toBe(200);

    await page.goto(`${url}/account/apps`);
    await expectGoodPage(page, 'apps');
    expect(await page.textContent('main')).toContain('Agent of <b>Ada</b>');
    await page.locator('main').getByRole('button').first().click();
    await page.waitForURL('**/account/apps?*');
    await expectGoodPage(page, 'apps-ended');
    await page.goto(`${url}/api/legate/oauth/authorize?client_id=unknown`);
    await expectGoodPage(page, 'error');
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('every page before a consent is accessible, in both languages and three widths', async () => {
    const email = newEmail();
    const { token } = await api('/sign-up', { email, password });
    const client = await api('/oauth/register', {
      redirect_uris: ['https://notes.example/callback'],
      client_name: 'Notes client',
    });
    const request = (more: Record<string, string> = {}): string =>
      `${url}/api/legate/oauth/authorize?${new URLSearchParams({
        response_type: 'code',
        client_id: client.client_id,
        redirect_uri: 'https://notes.example/callback',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
        scope: 'mcp:read mcp:execute agents:read agents:write offline_access',
        ...more,
      })}`;
    const { page, context, complaints } = await open({ javaScriptEnabled: true });
    await context.addCookies([{ name: `${service.legate.platform.config.service.name}_session`, value: token, url }]);
    for (const lang of ['en', 'de']) {
      for (const viewport of [PHONE, { width: 375, height: 667 }, { width: 1280, height: 800 }]) {
        await page.setViewportSize(viewport);
        await page.goto(`${request()}&lang=${lang}`);
        await expectGoodPage(page, `consent-${lang}-${viewport.width}`);
        // Both buttons are visible without scrolling, and scopes with wide rights are not ticked.
        for (const button of await page.getByRole('button').all())
          await expect.poll(() => inSight(page, button)).toBe(true);
        expect(await page.isChecked('[id="scope:mcp:read"]')).toBe(true);
        expect(await page.isChecked('[id="scope:agents:write"]')).toBe(false);
        for (const [name, address] of [
          ['faulty', request({ scope: 'everything' })],
          ['quiet', request({ prompt: 'none' })],
          ['unknown-client', request({ client_id: 'unknown' })],
          ['unregistered-address', request({ redirect_uri: 'https://evil.example/' })],
        ] as const) {
          await page.goto(`${address}&lang=${lang}`);
          await expectGoodPage(page, `request-${name}-${lang}-${viewport.width}`);
        }
      }
      await page.goto(`${request()}&lang=${lang}`);
      for (const summary of await page.locator('summary').all()) await summary.click();
      await expectGoodPage(page, `consent-open-${lang}`);
      await page.locator('input[name=consentToken]').evaluate((input) => input.setAttribute('value', 'x'));
      await page.getByRole('button').first().click();
      await expectGoodPage(page, `consent-expired-${lang}`);
      await page.locator('main .button').click();
      await page.waitForSelector('input[name=consentToken]', { state: 'attached' });
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('the page of an approval is accessible while it waits, once approved, and once decided elsewhere', async () => {
    const email = newEmail();
    const { token, user } = await api('/sign-up', { email, password });
    const agent = await api(
      '/agents',
      {
        ownerId: user.id,
        name: 'Buyer of <b>paper</b>',
        type: 'autonomous',
        permissions: [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }],
      },
      token,
    );
    const waiting = async (args: Record<string, unknown>): Promise<string> => {
      const ask = { action: 'pay', resource: 'bank:transfer', arguments: args };
      return `${url}/account/approvals/${(await api('/authorize', ask, agent.token)).approvalId}`;
    };
    const address = await waiting({ to: 'acme', amount: 10, note: 'x'.repeat(200), lines: [{ item: 'A4', count: 5 }] });
    const { page, context, complaints } = await open({ javaScriptEnabled: true });
    await page.goto(address);
    expect(new URL(page.url()).pathname).toBe('/account/sign-in');
    await page.fill('#email', email);
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    await page.waitForURL('**/account/approvals/*');
    for (const lang of ['en', 'de']) {
      await page.goto(`${address}?lang=${lang}`);
      expect(await page.getAttribute('html', 'lang')).toBe(lang);
      await expectGoodPage(page, `approval-${lang}`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${address}?lang=en`);
    await expectGoodPage(page, 'approval-wide');
    expect(await page.textContent('main')).toContain('Buyer of <b>paper</b>');
    await page.setViewportSize(PHONE);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.waitForSelector('[role=status]');
    expect(await page.getByRole('status').textContent()).toContain('This call is approved');
    await expectGoodPage(page, 'approval-approved');

    await page.goto(await waiting({}));
    await expectGoodPage(page, 'approval-without-arguments');
    const id = new URL(page.url()).pathname.split('/').at(-1);
    await api(`/approvals/${id}/deny`, {}, token);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.waitForSelector('.summary');
    await expectGoodPage(page, 'approval-too-late');
    expect(complaints).toEqual([]);
    await context.close();
  });
});
