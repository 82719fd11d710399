import { generateKeyPairSync } from 'node:crypto';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { consoleScene } from '../support/console-scene.ts';

describe.skipIf(chromiumPath === undefined)('the console while others change what it shows', () => {
  const scene = consoleScene();
  const { send } = scene;
  /** The person returns to the tab. */
  const comeBack = (page: Page) =>
    page.evaluate(() => void document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));

  it('does what the open dialog asks, not the opposite', async () => {
    const { page, context } = await scene.openAs('user');
    const path = `/webhooks/${scene.of.user.webhook}`;
    await scene.go(page, `/connections${path}`);
    await page.getByRole('button', { name: 'Disable', exact: true }).click();
    await send('user', 'PATCH', path, { enabled: false });
    await page.locator('main .status', { hasText: 'Disabled' }).first().waitFor();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('heading').innerText()).toBe('Disable this webhook?');
    await dialog.getByRole('button', { name: 'Disable', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await send('user', 'GET', path)).enabled).toBe(false);
    await context.close();
  });

  it('removes the key that the open dialog names, and not the one that has taken its place', async () => {
    const { page, context } = await scene.openAs('user');
    const path = `/agents/${scene.of.user.agent}/keys`;
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const set = (kids: readonly string[]) =>
      send('user', 'PUT', path, {
        jwks: { keys: kids.map((kid) => ({ ...publicKey.export({ format: 'jwk' }), kid })) },
      });
    await set(['one', 'two', 'three']);
    await scene.go(page, path);
    await page.getByRole('row', { name: 'two' }).getByRole('button', { name: 'Remove key' }).click();
    await set(['two', 'three']);
    await page.getByRole('cell', { name: 'one' }).waitFor({ state: 'detached' });
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('heading').innerText()).toBe('Remove the key two?');
    await dialog.getByRole('button', { name: 'Remove key' }).click();
    await dialog.getByText('PRECONDITION_FAILED').waitFor();
    const { jwks } = await send('user', 'GET', path);
    expect(jwks.keys.map(({ kid }: { kid: string }) => kid)).toEqual(['two', 'three']);
    await context.close();
  });

  it('approves the definition of a tool that the person has read, not a newer one', async () => {
    const { page, context } = await scene.openAs('admin');
    let hash = '';
    let fetched = 0;
    await page.route('**/gateway/servers/pinned/tools*', async (route) => {
      const answer = await route.fetch();
      const tools = await answer.json();
      const tool = tools.find(({ name }: { name: string }) => name === 'read');
      hash ||= tool.seen.hash;
      if (fetched++ > 0) tool.seen = { ...tool.seen, hash: 'newer', tool: { ...tool.seen.tool, title: 'newer' } };
      await route.fulfill({ response: answer, json: tools });
    });
    await scene.go(page, '/connections/gateway/pinned');
    await page.locator('.pill.live').waitFor();
    const tool = page.locator('main section section', { hasText: 'read' });
    await tool.getByRole('button', { name: 'Approve' }).click();
    await send('admin', 'POST', '/gateway/servers/pinned/restart');
    await page.locator('main').getByText('newer').first().waitFor({ state: 'attached' });
    const sent = page.waitForRequest('**/tools/read/approve');
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    expect((await sent).postDataJSON()).toEqual({ definition: hash });
    // The page may be asking again at this moment.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  });

  it('does not overwrite a change that was made while there was no connection', async () => {
    const { page, context } = await scene.openAs('admin');
    await context.clock.install();
    const tenant = await send('admin', 'POST', '/tenants', { name: 'Before' });
    await scene.go(page, '/people/tenants');
    await page.getByRole('row', { name: 'Before' }).getByRole('button', { name: 'Change' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Mine');
    await context.setOffline(true);
    await page.locator('.pill.offline').waitFor();
    await send('admin', 'PATCH', `/tenants/${tenant.id}`, { name: 'Theirs' });
    await context.clock.fastForward('00:10');
    await context.setOffline(false);
    await page.locator('.pill.live').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Someone else has changed this').waitFor();
    expect((await send('admin', 'GET', `/tenants/${tenant.id}`)).name).toBe('Theirs');
    await context.close();
  });

  it('belongs to the person who has signed in in another tab, once the first person comes back', async () => {
    const { page, context } = await scene.openAs('admin');
    await scene.go(page, '/agents');
    await page.getByRole('link', { name: 'People' }).waitFor();
    const other = await scene.openAs('auditor');
    await context.addCookies(await other.context.cookies());
    await comeBack(page);
    await page.locator('.account').getByText('auditor@example.com').waitFor();
    expect(await page.getByRole('button', { name: 'Register agent' }).count()).toBe(0);
    await other.context.close();
    await context.close();
  });

  it('offers what the new role of the person allows', async () => {
    const { page, context } = await scene.openAs('user');
    await scene.go(page, '/agents');
    await page.getByRole('button', { name: 'Register agent' }).waitFor();
    await send('admin', 'PATCH', `/users/${scene.of.user.user}`, { role: 'auditor' });
    await comeBack(page);
    await page.getByRole('button', { name: 'Register agent' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'System' }).waitFor();
    await send('admin', 'PATCH', `/users/${scene.of.user.user}`, { role: 'user' });
    await context.close();
  });

  it('no longer shows a grant, a delegation and a client that others have ended', async () => {
    const { page, context } = await scene.openAs('admin');
    const { grant, delegation } = scene.of.admin;
    const gone = async (path: string, link: string, endpoint: string): Promise<void> => {
      await scene.go(page, path);
      await page.locator('.pill.live').waitFor();
      const row = page.locator(link);
      await row.waitFor();
      await send('admin', 'DELETE', endpoint);
      await row.waitFor({ state: 'detached' });
    };
    await gone('/connections/grants', `a[href$="${grant}"]`, `/oauth/grants/${grant}`);
    await gone(
      '/agents/graph',
      `tr:has(a[href$="${scene.of.admin.agent}"]):has-text("Active")`,
      `/delegations/${delegation}`,
    );
    await gone('/connections/clients', `a[href$="${scene.common.client}"]`, `/oauth/clients/${scene.common.client}`);
    await context.close();
  });
});
