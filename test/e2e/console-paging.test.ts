import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { settled, WIDE } from '../support/console-scene.ts';
import { pagesService, sendTo } from '../support/pages-service.ts';

const TOTAL = 22;

describe.skipIf(chromiumPath === undefined)('pages of long lists in the console', () => {
  const service = pagesService({
    users: { requireSecondFactor: 'none' },
    approvals: { ttl: 86_400, maxWaitingPerAgent: 100 },
    webhooks: { allowPrivateNetworks: true },
  });
  const sessions: string[] = [];
  const approvals: string[] = [];
  let webhook = '';

  const send = (method: string, path: string, body?: object, token = sessions[0] as string) =>
    sendTo(service.url, token, method, path, body);

  beforeAll(async () => {
    for (const role of ['admin', 'user'] as const) {
      const account = { email: `${role}@example.com`, password: 'correct horse battery' };
      await service.legate.users.create({ ...account, role });
      sessions.push((await send('POST', '/sign-in', account)).token);
    }
    const { user } = await send('GET', '/auth/session');
    const permissions = [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }];
    const agent = await send('POST', '/agents', { ownerId: user.id, name: 'payer', type: 'service', permissions });
    for (let n = 0; n < TOTAL; n++) {
      const asked = await send('POST', '/authorize', { action: 'pay', resource: `bank:call-${n}` }, agent.token);
      approvals.push(asked.approvalId);
    }
    webhook = (await send('POST', '/webhooks', { url: 'http://127.0.0.1:9/hook', types: ['agent.revoked'] })).id;
  });

  async function open(path: string, person = 0): Promise<{ page: Page; context: BrowserContext }> {
    const { page, context } = await service.open({ javaScriptEnabled: true, viewport: WIDE, locale: 'en' });
    await context.addCookies([
      { name: 'legate_session', value: sessions[person] as string, domain: 'localhost', path: '/' },
    ]);
    await page.goto(`${service.url}/console${path}`);
    await settled(page);
    return { page, context };
  }

  const hasFocus = (page: Page) => expect.poll(() => page.locator('h1:focus').count());

  it('starts with the approvals that expire first, and turns to a page that begins at its heading', async () => {
    const { page, context } = await open('/approvals');
    const titles = page.locator('.card h2');
    await expect.poll(() => titles.first().innerText()).toBe('payer asks to pay bank:call-0');
    expect(await titles.nth(19).innerText()).toBe('payer asks to pay bank:call-19');
    expect(await page.locator('.card time').first().innerText()).toMatch(/^(1 day 0|23) h/);
    const approve = page.locator('.card').first().getByRole('button', { name: 'Approve' });
    const described = await approve.evaluate(
      (button) => document.getElementById(button.getAttribute('aria-describedby') ?? '')?.innerText,
    );
    expect(described).toBe('payer asks to pay bank:call-0');

    await page.getByRole('button', { name: 'Next page' }).click();
    await expect.poll(() => titles.allInnerTexts()).toEqual([20, 21].map((n) => `payer asks to pay bank:call-${n}`));
    await hasFocus(page).toBe(1);
    expect(await page.evaluate(() => scrollY)).toBe(0);

    // Others decide about all that is on this page. The list has more.
    for (const id of approvals.slice(20)) await send('POST', `/approvals/${id}/deny`);
    await page.getByText('Nothing is left on this page.').waitFor();
    expect(await page.getByText('Nothing waits for you').count()).toBe(0);
    await page.getByRole('button', { name: 'First page' }).click();
    await expect.poll(() => titles.count()).toBe(20);
    await hasFocus(page).toBe(1);
    await context.close();
  });

  it.each(['/agents', '/approvals', '/audit', '/changes', '/people/users', '/connections/webhooks'])(
    'leads from a damaged cursor in the address of %s to the first page',
    async (path) => {
      const { page, context } = await open(`${path}?cursor=damaged`);
      await page.getByText('The address names a page that this list does not have.').waitFor();
      await page.getByRole('button', { name: 'First page' }).click();
      await page.waitForURL(`**/console${path}`);
      await settled(page);
      expect(await page.getByRole('alert').count()).toBe(0);
      await hasFocus(page).toBe(1);
      await context.close();
    },
  );

  it('says once that a webhook does not exist, and offers nothing to do with it', async () => {
    const { page, context } = await open(`/connections/webhooks/${webhook}`, 1);
    await page.getByText('WEBHOOK_NOT_FOUND').waitFor();
    expect(await page.getByRole('alert').count()).toBe(1);
    expect(await page.locator('main button').allInnerTexts()).toEqual(['Copy as curl']);
    await context.close();
  });

  it('names the open tab in the title of the document', async () => {
    const { page, context } = await open('/signals/costs');
    const title = () => expect.poll(() => page.title());
    await title().toBe('Costs – Signals – Legate');
    await page.getByRole('link', { name: 'Anomalies' }).click();
    await title().toBe('Anomalies – Signals – Legate');
    const { agentId } = await send('GET', `/approvals/${approvals[0]}`);
    for (const [path, expected] of [
      ['/connections/webhooks', 'Webhooks – Connections – Legate'],
      ['/people/tenants', 'Tenants – People – Legate'],
      [`/agents/${agentId}`, 'Permissions – payer – Legate'],
      [`/agents/${agentId}/could`, 'What could it do? – payer – Legate'],
      ['/audit', 'Audit – Legate'],
    ] as const) {
      await page.goto(`${service.url}/console${path}`);
      await title().toBe(expected);
    }
    await context.close();
  });
});
