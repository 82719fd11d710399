import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { settled } from '../support/console-scene.ts';
import { pagesService } from '../support/pages-service.ts';

/** "Payment agent" in Hebrew. */
const NAME = 'סוכן תשלומים';

describe.skipIf(chromiumPath === undefined)('texts of the console', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' } });
  let token = '';
  let agent = { id: '', token: '' };
  let refused = '';

  // biome-ignore lint/suspicious/noExplicitAny: answers of the API.
  const send = async (path: string, body: object, as = token): Promise<any> => {
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${as}` },
      body: JSON.stringify(body),
    });
    expect(response.status, path).toBeLessThan(300);
    return response.json();
  };

  beforeAll(async () => {
    const account = { email: 'admin@example.com', password: 'correct horse battery' };
    const { id: ownerId } = await service.legate.users.create({ ...account, role: 'admin' });
    ({ token } = await send('/sign-in', account));
    agent = await send('/agents', {
      ownerId,
      name: NAME,
      type: 'service',
      permissions: [{ resource: 'mail:*', actions: ['send'], constraints: { requireApproval: true } }],
    });
    const lines = { text: 'A long line of a message. '.repeat(20), items: [{ price: { currency: 'EUR' } }] };
    await send('/authorize', { action: 'send', resource: 'mail:out', arguments: lines }, agent.token);
    ({ auditId: refused } = await send('/authorize', { action: 'read', resource: 'db:orders' }, agent.token));
  });

  async function open(path: string, options: object): Promise<{ page: Page; context: BrowserContext }> {
    const { page, context } = await service.open({ javaScriptEnabled: true, ...options });
    await context.addCookies([{ name: 'legate_session', value: token, domain: 'localhost', path: '/' }]);
    await page.goto(`${service.url}/console${path}`);
    await settled(page);
    return { page, context };
  }

  /** Where a part of the text of an element begins in the window. */
  const leftOf = (page: Page, selector: string, part: string): Promise<number> =>
    page.locator(selector).evaluate((element, text) => {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const at = node.textContent?.indexOf(text) ?? -1;
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + text.length);
        return range.getBoundingClientRect().left;
      }
      throw new Error(`no text ${text}`);
    }, part);

  it('that begin with a name from right to left keep their own direction', async () => {
    const { page, context } = await open('/approvals', { viewport: { width: 1440, height: 900 }, locale: 'de' });
    expect(await leftOf(page, '.verdict', NAME)).toBeLessThan(await leftOf(page, '.verdict', 'bittet um'));
    await page.goto(`${service.url}/console/audit/${refused}`);
    await settled(page);
    expect(await leftOf(page, '.verdict', NAME)).toBeLessThan(await leftOf(page, '.verdict', 'durfte nicht'));
    await page.goto(`${service.url}/console/agents/${agent.id}`);
    await settled(page);
    await page.getByRole('button', { name: 'Widerrufen', exact: true }).click();
    expect(await leftOf(page, 'dialog h2', NAME)).toBeLessThan(await leftOf(page, 'dialog h2', 'widerrufen'));
    expect(await leftOf(page, 'dialog h2', 'widerrufen')).toBeLessThan(await leftOf(page, 'dialog h2', '?'));
    await context.close();
  });

  it('of a path next to a long value are on one line, except on a phone', async () => {
    const linesOf = async (width: number): Promise<number> => {
      const { page, context } = await open('/approvals', { viewport: { width, height: 900 } });
      const path = page.locator('.card td bdi', { hasText: 'items[0].price.currency' });
      const lines = await path.evaluate((e) => Math.round(e.getBoundingClientRect().height / 18));
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      await context.close();
      return lines;
    };
    expect(await linesOf(1440)).toBe(1);
    expect(await linesOf(390)).toBeGreaterThan(1);
  });

  it('in the table of a chart that is wider than a phone scroll inside it, and not the page', async () => {
    const { page, context } = await open('/audit', { viewport: { width: 390, height: 844 }, locale: 'de' });
    await page.getByText('Als Tabelle').first().click();
    await page.getByRole('columnheader', { name: 'Gedrosselt' }).first().waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await page.getByRole('region', { name: 'Als Tabelle' }).waitFor();
    await context.close();
  });

  it('name the outcome of an approval, in both languages', async () => {
    const decide = async (outcome: 'approve' | 'deny'): Promise<void> => {
      const call = { action: 'send', resource: `mail:${outcome}` };
      const { approvalId } = await send('/authorize', call, agent.token);
      await send(`/approvals/${approvalId}/${outcome}`, {});
    };
    for (const outcome of ['approve', 'deny'] as const) await decide(outcome);
    for (const [locale, granted, denied] of [
      ['de', 'Freigegeben', 'Freigabe abgelehnt'],
      ['en', 'Approved', 'Approval denied'],
    ] as const) {
      const { page, context } = await open('/', { locale });
      const textOf = () => page.locator('main').innerText();
      expect(await textOf()).not.toMatch(/APPROVAL_/);
      expect(await textOf()).toContain(denied);
      await page.goto(`${service.url}/console/audit`);
      await settled(page);
      expect(await textOf()).not.toMatch(/APPROVAL_/);
      for (const text of [granted, denied]) expect(await textOf()).toContain(text);
      await context.close();
    }
  });
});
