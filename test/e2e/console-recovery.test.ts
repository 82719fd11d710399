import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { settled, WIDE } from '../support/console-scene.ts';
import { pagesService, sendTo } from '../support/pages-service.ts';

const HEADING = { tag: 'H1', text: 'People' };

describe.skipIf(chromiumPath === undefined)('the console when something does not go as planned', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' } });
  let token = '';
  let adminId = '';

  const send = (method: string, path: string, body?: object) => sendTo(service.url, token, method, path, body);
  const tenants = async (): Promise<string[]> =>
    (await send('GET', '/tenants')).map(({ name }: { name: string }) => name);

  beforeAll(async () => {
    const account = { email: 'admin@example.com', password: 'correct horse battery' };
    ({ id: adminId } = await service.legate.users.create({ ...account, role: 'admin' }));
    ({ token } = await send('POST', '/sign-in', account));
  });

  async function open(path: string, language = 'en'): Promise<{ page: Page; context: BrowserContext }> {
    const { page, context } = await service.open({ javaScriptEnabled: true, viewport: WIDE, locale: language });
    await context.addCookies([{ name: 'legate_session', value: token, domain: 'localhost', path: '/' }]);
    await page.goto(`${service.url}/console${path}`);
    await settled(page);
    return { page, context };
  }
  const focused = (page: Page) =>
    page.evaluate(() => ({ tag: document.activeElement?.tagName, text: document.activeElement?.textContent }));

  it('changes the language of the same screen with the same filter, for this person only', async () => {
    const { page, context } = await open('/audit?q=result%3Adenied');
    await page.getByRole('link', { name: 'Deutsch' }).click();
    await page.getByRole('heading', { level: 1, name: 'Protokoll' }).waitFor();
    await expect.poll(() => page.url()).toBe(`${service.url}/console/audit?q=result%3Adenied`);
    await page.goto(`${service.url}/console`);
    await page.getByRole('link', { name: 'English' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await context.close();
  });

  it('stays without a connection, says so, and goes on', async () => {
    const { page, context } = await open('/agents');
    const failed: string[] = [];
    page.on('requestfailed', (request) => request.url().endsWith('/auth/session') && failed.push(request.url()));
    await context.setOffline(true);
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByRole('heading', { level: 1, name: 'This screen could not be loaded' }).waitFor();
    const again = page.getByRole('button', { name: 'Try again' });
    await page.getByText('The service cannot be reached.').waitFor();
    const { length } = failed;
    await again.click();
    await expect.poll(() => failed.length).toBe(2 * length);
    await context.setOffline(false);
    await again.click();
    await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
    await context.close();
  });

  it('says that permissions could not be checked, and that a test could not be saved', async () => {
    const { id, token: agentToken } = await send('POST', '/agents', { ownerId: adminId, name: 'a', type: 'service' });
    const question = { action: 'read', resource: 'a:b' };
    const { auditId } = await sendTo(service.url, agentToken, 'POST', '/authorize', question);
    const { page, context } = await open(`/agents/${id}`);
    await page.route('**/assets/permission-check*', (route) => route.abort());
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.locator('main [role=alert]').waitFor();
    await page.goto(`${service.url}/console/audit/${auditId}`);
    await page.route('**/permissions', (route) => route.fulfill({ status: 404, body: '{}' }));
    await page.getByRole('button', { name: 'Save as test' }).click();
    await page.locator('main [role=alert]').waitFor();
    await context.close();
  });

  it('does not change anything later that failed without a connection', async () => {
    const { page, context } = await open('/people/tenants');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Register tenant' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('given up');
    await context.setOffline(true);
    await dialog.getByRole('button', { name: 'Register tenant' }).click();
    await dialog.getByText('The service cannot be reached.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await context.setOffline(false);
    await page.locator('.pill.live').waitFor();
    await page.getByRole('button', { name: 'Register tenant' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('meant');
    await dialog.getByRole('button', { name: 'Register tenant' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await tenants()).toEqual(['meant']);
    await context.close();
  });

  it('sends a form once, and puts the focus back where it was, or on the heading if that is gone', async () => {
    const { page, context } = await open('/people/tenants');
    const dialog = page.getByRole('dialog');
    const button = page.getByRole('button', { name: 'Register tenant' });
    await button.focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await focused(page)).toEqual({ tag: 'BUTTON', text: 'Register tenant' });
    await page.keyboard.press('Enter');
    await dialog.getByLabel('Name', { exact: true }).fill('once');
    // Two presses that arrive before the page is drawn again.
    await page.evaluate(() => {
      const form = document.querySelector('dialog form') as HTMLFormElement;
      form.requestSubmit();
      form.requestSubmit();
    });
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: 'once' }).waitFor();
    expect((await tenants()).filter((name) => name === 'once')).toEqual(['once']);
    expect(await focused(page)).toEqual({ tag: 'BUTTON', text: 'Register tenant' });
    await page.getByRole('row', { name: 'once' }).getByRole('button', { name: 'Delete' }).focus();
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('row', { name: 'once' }).waitFor({ state: 'detached' });
    await expect.poll(() => focused(page)).toEqual(HEADING);
    await context.close();
  });

  it('keeps the focus on the screen after an approval, whose card goes away', async () => {
    const permissions = [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }];
    const agent = await send('POST', '/agents', { ownerId: adminId, name: 'payer', type: 'service', permissions });
    await fetch(`${service.url}/authorize`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${agent.token}` },
      body: JSON.stringify({ action: 'pay', resource: 'bank:1' }),
    });
    const { page, context } = await open('/approvals');
    await page.locator('.twochoices button:enabled', { hasText: 'Approve' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Nothing is waiting for you').waitFor();
    expect(await focused(page)).toEqual({ tag: 'H1', text: 'Approvals' });
    await context.close();
  });

  it('shows a secret until the person confirms to have it, and never claims a copy that was not made', async () => {
    const { page, context } = await open('/agents');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Register agent' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('holder');
    await dialog.getByRole('button', { name: 'Register agent' }).click();
    await dialog.getByText('Copy this now').waitFor();
    for (let n = 0; n < 3; n++) await page.keyboard.press('Escape');
    expect(await dialog.locator('code').innerText()).toMatch(/^lgt_/);
    const copied = () =>
      page.evaluate(
        () =>
          new Promise<string>((resolve) => {
            addEventListener('copy', (e) => resolve(e.clipboardData?.getData('text/plain') ?? ''), { once: true });
            (document.querySelector('dialog button.icon') as HTMLElement).click();
          }),
      );
    // Without https there is no navigator.clipboard.
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true }));
    expect(await copied()).toBe(await dialog.locator('code').innerText());
    await dialog.getByText('Copied', { exact: true }).waitFor();
    await page.evaluate(() => addEventListener('copy', (e) => e.stopImmediatePropagation(), { capture: true }));
    await page.getByRole('button', { name: 'Copy the secret' }).click();
    await dialog.getByText('Not copied.').waitFor();
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await context.close();
  });

  it('explains errors in German, with a way on', async () => {
    const { page, context } = await open('/audit/aud_00000000000000000000000000', 'de');
    await page.getByText('Diese Entscheidung gibt es nicht, oder sie gehört Ihnen nicht.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(1);
    await page.getByRole('alert').getByRole('link', { name: 'Überblick' }).click();
    await page.getByRole('heading', { level: 1, name: 'Überblick' }).waitFor();
    for (const [status, code, text] of [
      [429, 'RATE_LIMIT_EXCEEDED', 'Zu viele Anfragen.'],
      [503, 'STORAGE_UNAVAILABLE', 'Die Datenbank ist nicht erreichbar.'],
    ] as const) {
      await page.route(/\/changes\?/, (route) =>
        route.fulfill({ status, json: { error: { code, message: 'Not German.' } } }),
      );
      await page.goto(`${service.url}/console/changes`);
      await page.getByText(text).waitFor();
      expect(await page.getByText('Not German.').count()).toBe(0);
      await page.unroute(/\/changes\?/);
      await page.getByRole('button', { name: 'Noch einmal versuchen' }).click();
      await page.getByRole('alert').waitFor({ state: 'detached' });
    }
    await context.close();
  });

  it('explains in German what is wrong with a field, and marks what the service says in English', async () => {
    const { page, context } = await open('/agents/graph', 'de');
    const fill = async (button: string, values: Record<string, string>): Promise<void> => {
      await page.getByRole('button', { name: button, exact: true }).click();
      for (const [label, value] of Object.entries(values))
        await page.getByRole('dialog').getByLabel(label, { exact: true }).fill(value);
      await page.getByRole('dialog').getByRole('button', { name: button }).click();
    };
    await fill('Delegieren', { Von: 'nobody', An: 'nobody', Ressource: 'db:*', Aktionen: 'read' });
    const problem = page.getByRole('dialog').locator('.problem');
    await problem.waitFor();
    expect(await problem.innerText()).toBe('Diesen Agenten gibt es nicht, oder er gehört Ihnen nicht.');
    await page.goto(`${service.url}/console/connections/webhooks`);
    await settled(page);
    await fill('Webhook anlegen', { Adresse: 'ftp://x' });
    await problem.locator('[lang=en]').waitFor();
    await context.close();
  });

  it('does not offer to try again what the person may not do', async () => {
    const { page, context } = await open('/agents');
    await page.route(/\/system(\?|$)/, (route) =>
      route.fulfill({ status: 403, json: { error: { code: 'FORBIDDEN', message: 'Forbidden.' } } }),
    );
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('alert').first().getByRole('link', { name: 'Overview' }).waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await context.close();
  });

  it('shows nothing as loading that waits for what could not be loaded', async () => {
    const { page, context } = await open('/agents');
    for (const path of ['/connections/servers/mcp_00000000000000000000000000', '/audit?q=result%3Ano-result']) {
      await page.goto(`${service.url}/console${path}`);
      await page.getByRole('alert').first().waitFor();
      await expect.poll(() => page.locator('.skeleton').count(), { message: path }).toBe(0);
    }
    await context.close();
  });
});
