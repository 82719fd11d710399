import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { chromiumPath, PHONE, tabTo } from '../support/chromium.ts';
import { consoleScene } from '../support/console-scene.ts';

describe.skipIf(chromiumPath === undefined)('the console in Chromium', () => {
  const scene = consoleScene();
  const { service, send, openAs, go } = scene;

  it('redirects visitors without a session to the sign-in page and back', async () => {
    const { page, context } = await service.open({ javaScriptEnabled: true });
    await page.goto(`${service.url}/console/audit?q=result%3Adenied`);
    expect(new URL(page.url()).pathname).toBe('/account/sign-in');
    await page.fill('#email', 'user@example.com');
    await page.fill('#password', 'correct horse battery');
    await page.press('#password', 'Enter');
    await page.waitForURL('**/console/audit?q=result*');
    await context.close();
  });

  it('hides nothing of an approval, and enables its buttons after a delay', async () => {
    const { page, context } = await openAs('admin', { viewport: PHONE });
    await go(page, `/approvals/${scene.of.admin.approval}`);
    const deny = page.getByRole('button', { name: 'Deny' });
    expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
    for (let i = 0; i < 30; i++) expect(await page.getByText(`"line ${i}"`).count()).toBe(1);
    expect(await page.locator('.card .chip').allInnerTexts()).toContain('U+202E');
    await deny.scrollIntoViewIfNeeded();
    await page.getByLabel('Note (optional)').fill('not today');
    await deny.click();
    await page.locator('.card .status').getByText('Denied').waitFor();
    const resolved = await send('admin', 'GET', `/approvals/${scene.of.admin.approval}`);
    expect(resolved).toMatchObject({ status: 'denied', note: 'not today' });
    await context.close();
  });

  it('changes permissions after a preview, and does not overwrite the change of another administrator', async () => {
    const { page, context } = await openAs('admin');
    await go(page, `/agents/${scene.of.admin.agent}`);
    await page.getByRole('button', { name: 'Remove write' }).click();
    await send('admin', 'PATCH', `/agents/${scene.of.admin.agent}`, { metadata: { changed: true } });
    // The screen is notified, and keeps the unsaved input.
    await page.getByRole('main').getByText('Someone else has changed this agent').waitFor();
    expect(await page.getByRole('button', { name: 'Remove write' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page
      .getByText(/loses 1 permission/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Save permissions' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Someone else has changed this agent').waitFor();
    await dialog.getByRole('button', { name: 'Load again' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Remove write' }).waitFor();
    await page.getByRole('button', { name: 'Remove write' }).click();
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save permissions' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { permissions } = await send('admin', 'GET', `/agents/${scene.of.admin.agent}`);
    expect(permissions[0]).toEqual({ resource: 'db:*', actions: ['read'] });
    await context.close();
  });

  it('blocks a tool from the line with its name, and approves it below its definition', async () => {
    const { page, context } = await openAs('admin');
    await go(page, '/connections/gateway/pinned');
    const tool = page.locator('section.section section').filter({ has: page.getByRole('heading', { name: 'added' }) });
    const middleOf = async (target: Locator): Promise<number> => {
      const { y, height } = (await target.boundingBox()) ?? { y: 0, height: 0 };
      return y + height / 2;
    };
    const name = await middleOf(tool.getByRole('heading'));
    expect(Math.abs((await middleOf(tool.getByRole('button', { name: 'Block' }))) - name)).toBeLessThan(10);
    expect(await middleOf(tool.getByRole('button', { name: 'Approve' }))).toBeGreaterThan(
      await middleOf(tool.locator('pre')),
    );
    await context.close();
  });

  it('shows how a definition has changed, and approves or blocks the tool', async () => {
    const { page, context } = await openAs('admin');
    await go(page, '/connections/gateway');
    await page.getByText('Done').waitFor();
    await page.getByRole('link', { name: 'pinned' }).click();
    await page.getByText('"Reads."').waitFor();
    expect(await page.locator('main').innerText()).toContain('\\u202e');
    const decide = async (verb: string, tool: string): Promise<void> => {
      const section = page.locator('section', { has: page.getByRole('heading', { level: 3, name: tool }) }).last();
      await section.getByRole('button', { name: verb }).click();
      await page.getByRole('dialog').getByRole('button', { name: verb }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    await decide('Approve', 'read');
    await decide('Block', 'added');
    const tools = await send('admin', 'GET', '/gateway/servers/pinned/tools');
    expect(tools.map((one: { name: string; state: string }) => [one.name, one.state])).toEqual([
      ['added', 'blocked'],
      ['read', 'approved'],
    ]);
    await context.close();
  });

  it('registers and revokes an agent by keyboard', async () => {
    const { page, context } = await openAs('admin');
    await go(page, '/agents');
    await tabTo(page, 'Register agent');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Name');
    await page.keyboard.type('keyboard agent');
    await page.keyboard.press('Enter');
    await page.getByText('Copy this now').waitFor();
    await tabTo(page, 'I have copied it');
    await page.keyboard.press('Enter');
    const link = page.getByRole('link', { name: 'keyboard agent' });
    await link.waitFor();
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'keyboard agent' }).waitFor();
    await tabTo(page, 'Revoke');
    await page.keyboard.press('Enter');
    await page.locator('dialog .danger:enabled').waitFor();
    await tabTo(page, 'Revoke');
    await page.keyboard.press('Enter');
    await page.locator('.facts').getByText('Revoked').waitFor();
    await context.close();
  });

  it('opens a screen, an agent or an id by keyboard', async () => {
    const { page, context } = await openAs('admin');
    await go(page, '');
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await page.waitForURL('**/console/audit');
    // The address changes before the screen is loaded.
    await page.getByRole('searchbox').waitFor();
    await page.keyboard.press('/');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('search');
    await page.keyboard.press('Escape');
    await page.locator('tbody tr a').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/audit/aud_*');
    await page.getByRole('link', { name: 'Earlier' }).waitFor();
    const here = page.url();
    await page.keyboard.press('[');
    await expect.poll(() => page.url()).not.toBe(here);
    for (const [text, address] of [
      ['reader', '**/console/agents/agt_*'],
      [scene.of.admin.entry, `**/console/audit/${scene.of.admin.entry}`],
      ['Playground', '**/console/playground'],
    ] as const) {
      await page.keyboard.press('Control+k');
      await page.locator('dialog input').fill(text);
      await page.getByRole('option', { name: text }).first().waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(address);
    }
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByLabel('Single-key shortcuts are on').uncheck();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    expect(new URL(page.url()).pathname).toBe('/console/playground');
    await context.close();
  });

  it('sends at most eight requests for the overview', async () => {
    const { page, context } = await openAs('admin');
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.resourceType() === 'fetch' && !request.url().includes('/events/')) asked.push(request.url());
    });
    await go(page, '');
    expect(asked.length, asked.join('\n')).toBeLessThanOrEqual(8);
    await context.close();
  });

  it.each([
    ['/signals', '/signals/anomalies'],
    ['/connections', '/connections/servers'],
    ['/people', '/people/users'],
  ])('redirects from %s to its first tab', async (area, first) => {
    const { page, context } = await openAs('admin');
    await go(page, area);
    expect(new URL(page.url()).pathname).toBe(`/console${first}`);
    await context.close();
  });

  it('shows live decisions', async () => {
    const { page, context } = await openAs('admin');
    await go(page, '/audit');
    await page.locator('.pill.live').waitFor();
    await send('admin', 'POST', '/authorize', { agentId: scene.of.admin.agent, action: 'read', resource: 'db:live' });
    await page.getByRole('button', { name: /new$/ }).click();
    await page.getByText('db:live').first().waitFor();
    await context.close();
  });

  it('redirects to the sign-in page when the session ends elsewhere, and back to the draft', async () => {
    const { page, context } = await openAs('user');
    await go(page, `/agents/${scene.of.user.agent}`);
    await page.locator('.pill.live').waitFor();
    await page.getByRole('button', { name: 'Add permission' }).click();
    await page.getByLabel('Segment 1').last().fill('kept');
    await send('admin', 'DELETE', `/users/${scene.of.user.user}/sessions`);
    // The screen must not keep its old content, even without any input.
    await page.waitForURL('**/account/sign-in?*');
    await page.fill('#email', 'user@example.com');
    await page.fill('#password', 'correct horse battery');
    await page.press('#password', 'Enter');
    await page.waitForURL(`**/console/agents/${scene.of.user.agent}`);
    await expect.poll(() => page.getByLabel('Segment 1').last().inputValue()).toBe('kept');
    expect(await page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('legate')))).toEqual(
      [],
    );
    await context.close();
  });
});
