import { generate } from 'otplib';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { asId } from '../../src/kernel/ids.ts';
import { chromiumPath, expectGoodPage, focusOn, PHONE, tabTo } from '../support/chromium.ts';
import { pagesService } from '../support/pages-service.ts';

const password = 'correct horse battery';
const WIDE = { width: 1280, height: 800 } as const;
/** A code of the app. The service also accepts the code of the next step of its clock. */
const codeOf = (secret: string, stepsAhead = 0): Promise<string> =>
  generate({ secret, epoch: Math.floor(Date.now() / 1000) + stepsAhead * 30 });

describe.skipIf(chromiumPath === undefined)('the pages of credentials in Chromium, 320 px wide', () => {
  const service = pagesService({ users: { requireSecondFactor: 'all' } });
  const { open } = service;
  let people = 0;
  async function newPerson(): Promise<string> {
    const email = `person${++people}@example.com`;
    const { id } = await service.legate.users.create({ email, password });
    // The address is verified already, because its first proof would remove the password.
    const { write } = service.legate.platform.database;
    await write.updateTable('users').set({ email_verified: 1 }).where('id', '=', asId('user', id)).execute();
    return email;
  }
  const secretOn = (page: Page): Promise<string> => page.inputValue('input[name=secret]');
  async function signIn(page: Page, email: string, to = '/account'): Promise<void> {
    await page.goto(`${service.url}/account/sign-in?returnTo=${encodeURIComponent(to)}`);
    await page.fill('#email', email);
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
  }

  it('a required second factor is set up without scripts and by keyboard', async () => {
    const email = await newPerson();
    const { page, context, complaints } = await open();
    await page.goto(`${service.url}/account/devices`);
    await focusOn(page, 'email');
    await page.keyboard.type(email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/account/two-factor?returnTo=*');
    await tabTo(page, 'Password');
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.qr');
    const secret = await secretOn(page);
    await tabTo(page, 'Enter the key by hand');
    await page.keyboard.press('Enter');
    expect((await page.locator('code.key').innerText()).replaceAll(' ', '')).toBe(secret);
    await tabTo(page, 'Code from the app');
    await page.keyboard.type('000000');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.summary');
    await focusOn(page, 'summary');
    await tabTo(page, 'This code is wrong');
    await page.keyboard.press('Enter');
    await focusOn(page, 'code');
    await page.keyboard.type(await codeOf(secret));
    await page.keyboard.press('Enter');
    await page.waitForSelector('.codes');
    await tabTo(page, 'I have saved the codes');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/account/devices');
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('the pages of the second factor are accessible, in both languages', async () => {
    const email = await newPerson();
    const { page, context, complaints } = await open({ javaScriptEnabled: true });
    await signIn(page, email);
    await page.waitForURL('**/account/two-factor*');
    await expectGoodPage(page, 'two-factor-due');
    let secret = '';
    for (const lang of ['de', 'en']) {
      await page.goto(`${service.url}/account/two-factor?lang=${lang}`);
      await page.fill('#password', 'not this one');
      await page.press('#password', 'Enter');
      await page.waitForSelector('.summary');
      await expectGoodPage(page, `two-factor-password-wrong-${lang}`);
      await page.fill('#password', password);
      await page.press('#password', 'Enter');
      await page.waitForSelector('.qr');
      await page.locator('summary').click();
      await expectGoodPage(page, `two-factor-key-${lang}`);
      await page.setViewportSize(WIDE);
      await expectGoodPage(page, `two-factor-key-${lang}-wide`);
      await page.setViewportSize(PHONE);
      secret = await secretOn(page);
    }
    await page.fill('#code', await codeOf(secret));
    await page.press('#code', 'Enter');
    await page.waitForSelector('.codes');
    await expectGoodPage(page, 'two-factor-codes');
    await page.setViewportSize(WIDE);
    await expectGoodPage(page, 'two-factor-codes-wide');
    await page.setViewportSize(PHONE);
    await page.locator('main .button').click();
    await page.waitForURL('**/account/two-factor*');

    const other = await open({ javaScriptEnabled: true });
    await signIn(other.page, email);
    await other.page.waitForURL('**/account/second-factor*');
    await other.page.fill('#code', await codeOf(secret, 1));
    await other.page.check('#trustDevice');
    await other.page.press('#code', 'Enter');
    await other.page.waitForURL('**/account');
    await other.context.close();
    for (const lang of ['de', 'en']) {
      await page.goto(`${service.url}/account/two-factor?lang=${lang}`);
      expect(await page.locator('main form').count()).toBe(1);
      await expectGoodPage(page, `two-factor-on-${lang}`);
      await page.setViewportSize(WIDE);
      await expectGoodPage(page, `two-factor-on-${lang}-wide`);
      await page.setViewportSize(PHONE);
      for (const step of ['backup-codes', 'off']) {
        await page.goto(`${service.url}/account/two-factor?step=${step}`);
        await expectGoodPage(page, `two-factor-${step}-${lang}`);
      }
    }
    await page.goto(`${service.url}/account/two-factor`);
    await page.locator('main form button').click();
    await page.waitForSelector('[role=status]');
    await expectGoodPage(page, 'two-factor-no-trust');
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('the pages of password, tokens and e-mail code are accessible, in both languages', async () => {
    const email = await newPerson();
    const { page, context, complaints } = await open({ javaScriptEnabled: true });
    const at = (path: string): Promise<unknown> => page.goto(service.url + path);
    const sent = async (lang: string): Promise<string> => {
      service.mails.length = 0;
      await at(`/account/email-code?lang=${lang}`);
      await expectGoodPage(page, `email-code-${lang}`);
      await page.fill('#email', email);
      await page.press('#email', 'Enter');
      await page.waitForSelector('#code');
      await expectGoodPage(page, `email-code-sent-${lang}`);
      await service.legate.platform.background.idle();
      return service.mails[0]?.code ?? '';
    };
    await at('/account/sign-in?lang=de');
    await expectGoodPage(page, 'sign-in-with-mail-de');
    await sent('de');
    await page.fill('#code', await sent('en'));
    await page.press('#code', 'Enter');
    await page.waitForURL('**/account/two-factor*');
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    await page.waitForSelector('.qr');
    await page.fill('#code', await codeOf(await secretOn(page)));
    await page.press('#code', 'Enter');
    await page.waitForSelector('.codes');
    for (const lang of ['de', 'en']) {
      await at(`/account/password?lang=${lang}`);
      await expectGoodPage(page, `password-${lang}`);
      await page.fill('#currentPassword', 'not this one');
      await page.fill('#newPassword', 'another long password');
      await page.press('#newPassword', 'Enter');
      await page.waitForSelector('.summary');
      await expectGoodPage(page, `password-wrong-${lang}`);
      await at(`/account/tokens?lang=${lang}`);
      await expectGoodPage(page, `tokens-${lang}`);
      await page.fill('#name', 'ci');
      await page.press('#name', 'Enter');
      await page.waitForSelector('.summary');
      await expectGoodPage(page, `tokens-wrong-${lang}`);
      await page.check('[id="scope:audit:read"]');
      await page.press('#name', 'Enter');
      await page.waitForSelector('code.key');
      await expectGoodPage(page, `tokens-new-${lang}`);
      await at('/account/tokens');
      await page.setViewportSize(WIDE);
      await expectGoodPage(page, `tokens-${lang}-wide`);
      await at('/account');
      await expectGoodPage(page, `account-${lang}-wide`);
      await page.setViewportSize(PHONE);
      await expectGoodPage(page, `account-${lang}`);
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('a token is created and revoked without scripts and by keyboard', async () => {
    const email = await newPerson();
    const { page, context, complaints } = await open();
    await signIn(page, email, '/account/tokens');
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    await page.waitForSelector('.qr');
    await page.fill('#code', await codeOf(await secretOn(page)));
    await page.press('#code', 'Enter');
    await page.locator('main .button').click();
    await page.waitForURL('**/account/tokens');
    await tabTo(page, 'Name');
    await page.keyboard.type('ci');
    await tabTo(page, 'Read the audit log o');
    await page.keyboard.press('Space');
    await tabTo(page, 'In 30 days');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForSelector('code.key');
    expect(await page.locator('code.key').innerText()).toMatch(/^lgk_/);
    await tabTo(page, 'I have copied the token');
    const loaded = page.waitForEvent('load');
    await page.keyboard.press('Enter');
    await loaded;
    await tabTo(page, 'Revoke ci');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/account/tokens?done=revoked');
    expect(await page.locator('main .card').count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
