import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { openConsole, settled, visit } from '../support/console-scene.ts';
import { pagesService, sendTo } from '../support/pages-service.ts';

describe.skipIf(chromiumPath === undefined)('screens of one object, when another one follows', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' }, webhooks: { allowPrivateNetworks: true } });
  let session = '';
  const webhooks: string[] = [];
  const servers: string[] = [];
  let agentId = '';

  const send = (method: string, path: string, body?: object, token = session) =>
    sendTo(service.url, token, method, path, body);

  beforeAll(async () => {
    const account = { email: 'admin@example.com', password: 'correct horse battery' };
    const { id: ownerId } = await service.legate.users.create({ ...account, role: 'admin' });
    ({ token: session } = await send('POST', '/sign-in', account));
    const permissions = [{ resource: 'mcp:*', actions: ['execute'] }];
    const agent = await send('POST', '/agents', { ownerId, name: 'caller', type: 'service', permissions });
    agentId = agent.id;
    for (const name of ['first', 'second']) {
      const webhook = { url: `http://127.0.0.1:9/${name}`, types: ['agent.revoked'] };
      webhooks.push((await send('POST', '/webhooks', webhook)).id);
      const server = { name, endpoint: `https://${name}.example/mcp`, tools: ['read'] };
      servers.push((await send('POST', '/mcp/servers', server)).id);
      await send('POST', '/authorize', { action: 'execute', resource: `mcp:${name}:read` }, agent.token);
    }
  });

  const open = (path: string) => openConsole(service, session, path);

  it('does not show the previous object at the address of the next one, whose answer is slow', async () => {
    const { page, context } = await open(`/connections/webhooks/${webhooks[0]}`);
    const main = page.locator('main');
    await main.getByText('http://127.0.0.1:9/first').waitFor();
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(`**/webhooks/${webhooks[1]}`, async (route) => {
      await held;
      await route.continue();
    });
    const asked = page.waitForRequest(`**/webhooks/${webhooks[1]}`);
    await page.evaluate((to) => {
      history.pushState(null, '', to);
      dispatchEvent(new PopStateEvent('popstate'));
    }, `/console/connections/webhooks/${webhooks[1]}`);
    await asked;
    await expect.poll(() => main.getByText('http://127.0.0.1:9/first').count()).toBe(0);
    answer();
    await main.getByText('http://127.0.0.1:9/second').waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
    await context.close();
  });

  it('closes a dialog about an object when the person goes back to another one', async () => {
    const { page, context } = await open(`/connections/webhooks/${webhooks[0]}`);
    await visit(page, `/connections/webhooks/${webhooks[1]}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('the second one is not used');
    await page.goBack();
    await page.locator('main').getByText('http://127.0.0.1:9/first').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await context.close();
  });

  it('shows what belongs to an object, not what belongs to the previous one', async () => {
    const { page, context } = await open(`/connections/servers/${servers[0]}`);
    await page.getByRole('link', { name: 'mcp:first:read' }).waitFor();
    await visit(page, `/connections/servers/${servers[1]}`);
    await page.getByRole('link', { name: 'mcp:second:read' }).waitFor();
    expect(await page.getByRole('link', { name: 'mcp:first:read' }).count()).toBe(0);
    await context.close();
  });

  it('leads from the number of calls of a tool to these calls, whatever the name of the tool', async () => {
    await send('POST', '/authorize', { agentId, action: 'execute', resource: 'mcp:first:read all' });
    const { page, context } = await open(`/connections/servers/${servers[0]}`);
    await page.getByRole('link', { name: 'mcp:first:read all' }).click();
    await page.waitForURL('**/audit?**');
    await settled(page);
    expect(await page.getByLabel('Filter').inputValue()).toBe('resource:"mcp:first:read all"');
    expect(new URL(page.url()).searchParams.get('since')).not.toBeNull();
    expect(await page.locator('tbody tr').filter({ hasText: 'mcp:first:read all' }).count()).toBe(1);
    await context.close();
  });

  it('shows the secret of a change that was sent, even if Escape is pressed before the answer', async () => {
    const { page, context } = await open('/agents');
    const dialog = page.getByRole('dialog');
    let answer = (): void => {};
    let held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/\/(agents|rotate)$/, async (route) => {
      if (route.request().method() === 'POST') await held;
      await route.continue();
    });
    const sendSlowly = async (verb: string): Promise<void> => {
      await dialog.getByRole('button', { name: verb }).click();
      await expect.poll(() => dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      answer();
      await dialog.getByText(/^lg[a-z]_\w+/).waitFor();
      await dialog.getByRole('button', { name: 'I have copied it' }).click();
    };
    await page.getByRole('button', { name: 'Register agent' }).click();
    await dialog.getByLabel('Name').fill('patient');
    await sendSlowly('Register agent');
    await page.getByRole('link', { name: 'patient' }).click();
    held = new Promise((resolve) => {
      answer = resolve;
    });
    await page.getByRole('button', { name: 'Rotate token' }).click();
    await sendSlowly('Rotate token');
    await context.close();
  });
});
