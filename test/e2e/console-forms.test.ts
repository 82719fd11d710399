import type { BrowserContext, Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, expectGoodPage, PHONE } from '../support/chromium.ts';
import { pagesService } from '../support/pages-service.ts';

describe.skipIf(chromiumPath === undefined)('the forms of the console', () => {
  const service = pagesService({
    users: { requireSecondFactor: 'none' },
    webhooks: { allowPrivateNetworks: true },
  });
  const tokens = new Map<string, string>();
  let agent = { id: '' };
  let adminId = '';

  const send = async (method: string, path: string, body?: unknown, as = 'admin') => {
    const response = await fetch(service.url + path, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens.get(as)}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers of the API.
    const answer = (await response.json().catch(() => undefined)) as any;
    expect(response.status, `${method} ${path} ${JSON.stringify(answer)}`).toBeLessThan(300);
    return answer;
  };

  beforeAll(async () => {
    for (const name of ['admin', 'other']) {
      const email = `${name}@example.com`;
      await service.legate.users.create({ email, password: 'correct horse battery', role: 'admin', name });
      tokens.set(name, (await send('POST', '/sign-in', { email, password: 'correct horse battery' })).token);
    }
    adminId = (await send('GET', '/auth/session')).user.id;
    agent = await send('POST', '/agents', { ownerId: adminId, name: 'formed', type: 'service' });
  });

  /** Opens a screen as the first administrator. */
  async function open(path: string): Promise<{ page: Page; context: BrowserContext; bad: string[] }> {
    const { page, context, complaints } = await service.open({ javaScriptEnabled: true, viewport: PHONE });
    await context.addCookies([
      { name: 'legate_session', value: tokens.get('admin') as string, domain: 'localhost', path: '/' },
    ]);
    await page.goto(`${service.url}/console${path}`);
    await page.waitForSelector('h1');
    return { page, context, bad: complaints };
  }

  const fill = async (form: Locator, values: Record<string, string>): Promise<void> => {
    for (const [label, value] of Object.entries(values)) await form.getByLabel(label, { exact: true }).fill(value);
  };

  /** Presses the button that sends the form, and expects an error that names the field with this label. */
  async function refused(page: Page, button: string, label: string): Promise<void> {
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: button }).click();
    await dialog.getByRole('alert').getByText(`Not saved. Please check: ${label}.`).waitFor();
    const field = dialog.getByLabel(label, { exact: true });
    await expect.poll(() => field.evaluate((e) => e === document.activeElement)).toBe(true);
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    const described = (await field.getAttribute('aria-describedby')) as string;
    const problem = page.locator(`[id="${described.split(' ').at(-1)}"]`);
    expect(await problem.innerText()).not.toBe('');
  }

  async function saved(page: Page, button: string): Promise<void> {
    await page.getByRole('dialog').getByRole('button', { name: button }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }

  /** Opens a form for a change while another administrator makes one. The input must stay. */
  async function meetsAnother(
    page: Page,
    typed: Record<string, string>,
    path: string,
    change: object,
    shown: string,
  ): Promise<void> {
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await fill(dialog, typed);
    await send('PATCH', path, change, 'other');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Someone else has changed this in the meantime').waitFor();
    await dialog.getByText('User other').waitFor();
    await dialog.getByRole('alert').getByText(shown).first().waitFor();
    await expectGoodPage(page, `console-form-conflict-${path.split('/')[1]}`);
    expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Load again' }).click();
    await dialog.getByText('Someone else has changed this').waitFor({ state: 'detached' });
    for (const [label, value] of Object.entries(typed))
      expect(await dialog.getByLabel(label, { exact: true }).inputValue()).toBe(value);
    await dialog.getByLabel(/^Reason/).fill('as agreed');
    await saved(page, 'Save');
    const [last] = await send('GET', `/changes?subject=${path.split('/').at(-1)}&limit=1`);
    expect(last.actor.reason).toBe('as agreed');
  }

  it('registers an MCP server and changes it', async () => {
    const { page, context, bad } = await open('/connections/servers');
    await page.getByRole('button', { name: 'Register server' }).click();
    const dialog = page.getByRole('dialog');
    await fill(dialog, { Name: 'a:b', Endpoint: 'https://desk.example/mcp', Tools: 'read pay' });
    await refused(page, 'Register server', 'Name');
    await fill(dialog, { Name: 'desk', Endpoint: 'http://desk.example/mcp' });
    await refused(page, 'Register server', 'Endpoint');
    await fill(dialog, { Endpoint: 'https://desk.example/mcp' });
    await saved(page, 'Register server');
    await page.getByRole('link', { name: 'desk' }).click();
    await page.getByRole('heading', { level: 1, name: 'desk' }).waitFor();
    const [server] = await send('GET', '/mcp/servers');
    const path = `/mcp/servers/${server.id}`;
    await meetsAnother(
      page,
      { Tools: 'read pay drop', 'Calls per minute': '30' },
      path,
      { authRequired: false },
      'false',
    );
    expect(await send('GET', path)).toMatchObject({
      name: 'desk',
      tools: ['read', 'pay', 'drop'],
      rateLimit: { rpm: 30 },
      authRequired: false,
    });
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await fill(dialog, { 'Calls per minute': '1.5' });
    await refused(page, 'Save', 'Calls per minute');
    await fill(dialog, { 'Calls per minute': '' });
    await saved(page, 'Save');
    expect(await send('GET', path)).not.toHaveProperty('rateLimit');
    expect(bad).toEqual([]);
    await context.close();
  });

  it('sets a budget and changes it', async () => {
    const { page, context, bad } = await open('/signals/costs');
    await page.getByRole('button', { name: 'Set budget' }).click();
    const dialog = page.getByRole('dialog');
    await fill(dialog, { Agent: agent.id, Limit: '10' });
    expect(await dialog.getByLabel('Currency', { exact: true }).count()).toBe(0);
    await dialog.getByLabel('Kind', { exact: true }).selectOption('cost');
    await fill(dialog, { Currency: 'e1' });
    await refused(page, 'Set budget', 'Currency');
    await fill(dialog, { Currency: 'eur' });
    await saved(page, 'Set budget');
    const [budget] = await send('GET', '/budgets');
    expect(budget).toMatchObject({ agentId: agent.id, metric: 'cost', currency: 'EUR', limit: 10, window: 'day' });
    const path = `/budgets/${budget.id}`;
    await meetsAnother(page, { Limit: '25' }, path, { window: 'month' }, 'month');
    expect(await send('GET', path)).toMatchObject({ limit: 25, window: 'month', onExceed: 'notify' });
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await fill(dialog, { Limit: '1e300' });
    await refused(page, 'Save', 'Limit');
    expect(bad).toEqual([]);
    await context.close();
  });

  it('registers a webhook and changes it', async () => {
    const { page, context, bad } = await open('/connections/webhooks');
    await page.getByRole('button', { name: 'Register webhook' }).click();
    const dialog = page.getByRole('dialog');
    await fill(dialog, { Address: 'ftp://127.0.0.1/hook' });
    await refused(page, 'Register webhook', 'Address');
    await fill(dialog, { Address: 'http://127.0.0.1:9/hook', Events: 'agent.created nonsense' });
    await refused(page, 'Register webhook', 'Events');
    await fill(dialog, { Events: 'audit', Filter: 'result:denied nonsense' });
    await refused(page, 'Register webhook', 'Filter');
    await fill(dialog, { Filter: 'result:denied -resource:"db:a b"' });
    await dialog.getByRole('button', { name: 'Register webhook' }).click();
    await page.getByText('Copy this now').waitFor();
    const secret = await page.locator('dialog code').innerText();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('link', { name: 'http://127.0.0.1:9/hook' }).click();
    await page.getByText('result:denied -resource:"db:a b"').waitFor();
    const [webhook] = await send('GET', '/webhooks');
    const path = `/webhooks/${webhook.id}`;
    await meetsAnother(page, { Address: 'http://127.0.0.1:9/next' }, path, { types: null }, 'null');
    expect(await send('GET', path)).toMatchObject({
      url: 'http://127.0.0.1:9/next',
      types: null,
      filters: { result: ['denied'], 'not.resource': ['db:a b'] },
    });
    expect(bad).toEqual([]);
    await context.close();
  });

  it('registers a client', async () => {
    const { page, context, bad } = await open('/connections/clients');
    await page.getByRole('button', { name: 'Register client' }).click();
    const dialog = page.getByRole('dialog');
    await fill(dialog, { Name: 'Desk', 'Redirect addresses': 'http://elsewhere.example/back' });
    await refused(page, 'Register client', 'Redirect addresses');
    await fill(dialog, { 'Redirect addresses': 'https://desk.example/back http://127.0.0.1/back' });
    await dialog.getByRole('button', { name: 'Register client' }).click();
    await page.getByText('Copy this now').waitFor();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Desk' }).waitFor();
    expect(bad).toEqual([]);
    await context.close();
  });

  it('registers a tenant, changes it, moves a person into it, and deletes it when it has no members', async () => {
    const { page, context, bad } = await open('/people/tenants');
    await page.getByRole('button', { name: 'Register tenant' }).click();
    const dialog = page.getByRole('dialog');
    await fill(dialog, { Name: 'Acme', 'Short name': 'No Slug' });
    await refused(page, 'Register tenant', 'Short name');
    await fill(dialog, { 'Short name': 'acme' });
    await saved(page, 'Register tenant');
    await page.getByText('acme', { exact: true }).waitFor();
    const [tenant] = await send('GET', '/tenants');
    await meetsAnother(page, { Name: 'Acme Ltd' }, `/tenants/${tenant.id}`, { slug: 'acme-2' }, 'acme-2');
    expect(await send('GET', `/tenants/${tenant.id}`)).toMatchObject({ name: 'Acme Ltd', slug: 'acme-2' });
    const taken = await send('POST', '/tenants', { name: 'Taken', slug: 'taken' });
    await page.getByRole('button', { name: 'Change', exact: true }).first().click();
    await fill(dialog, { 'Short name': 'taken' });
    await refused(page, 'Save', 'Short name');
    await dialog.getByRole('button', { name: 'Cancel' }).click();

    const { user } = await send('GET', '/auth/session', undefined, 'other');
    for (const id of [user.id, adminId]) await send('PATCH', `/users/${id}`, { tenantId: taken.id });
    const heir = await send('POST', '/agents', { ownerId: user.id, name: 'heir', type: 'service' });
    const permissions = [{ resource: 'db:*', actions: ['read'] }];
    const source = await send('POST', '/agents', { ownerId: adminId, name: 'source', type: 'service', permissions });
    await send('POST', '/delegations', { fromAgent: source.id, toAgent: heir.id, permissions });
    await page.goto(`${service.url}/console/people/users/${user.id}`);
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await fill(dialog, { Tenant: 'tnt_00000000000000000000000000' });
    await refused(page, 'Save', 'Tenant');
    await fill(dialog, { Tenant: tenant.id });
    await dialog.getByRole('button', { name: 'Save' }).click();
    // The second press saves the change, after its consequences were shown.
    await dialog.getByText('heir: loses 1 permission').waitFor();
    expect((await send('GET', `/users/${user.id}`)).tenantId).toBe(taken.id);
    await saved(page, 'Save');
    expect((await send('GET', `/users/${user.id}`)).tenantId).toBe(tenant.id);
    await page.getByText('Acme Ltd').waitFor();

    await page.goto(`${service.url}/console/people/tenants`);
    const row = page.getByRole('row', { name: 'Acme Ltd' });
    await row.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('TENANT_IN_USE').waitFor();
    await send('PATCH', `/users/${user.id}`, { tenantId: null });
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.waitFor({ state: 'detached' });
    await row.waitFor({ state: 'detached' });
    expect(bad).toEqual([]);
    await context.close();
  });

  it('registers an agent and changes its name, expiry and metadata, not its permissions', async () => {
    const { page, context, bad } = await open('/agents');
    await page.getByRole('button', { name: 'Register agent' }).click();
    const dialog = page.getByRole('dialog');
    await fill(dialog, { Name: 'brief', Expires: '2020-01-01T00:00' });
    await dialog.getByRole('button', { name: 'Register' }).click();
    await dialog.getByRole('alert').getByText('EXPIRES_AT_IN_PAST').or(dialog.locator('.problem')).first().waitFor();
    await fill(dialog, { Expires: '2040-01-01T00:00' });
    await dialog.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('link', { name: 'brief' }).click();
    await page.getByRole('heading', { level: 1, name: 'brief' }).waitFor();
    const id = page.url().split('/').at(-1) as string;
    const permissions = [{ resource: 'db:*', actions: ['read'] }];
    const typed = { Name: 'lasting', Metadata: '{"team":"desk"}' };
    await meetsAnother(page, typed, `/agents/${id}`, { permissions }, 'db:*');
    expect(await send('GET', `/agents/${id}`)).toMatchObject({
      name: 'lasting',
      permissions,
      metadata: { team: 'desk' },
      expiresAt: new Date('2040-01-01T00:00').toISOString(),
    });
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await fill(dialog, { Metadata: '{' });
    await refused(page, 'Save', 'Metadata');
    await fill(dialog, { Metadata: '', Expires: '' });
    await saved(page, 'Save');
    expect(await send('GET', `/agents/${id}`)).toMatchObject({ metadata: {} });
    await page
      .getByText('Never', { exact: true })
      .or(page.getByText('never', { exact: true }))
      .first()
      .waitFor();
    expect(bad).toEqual([]);
    await context.close();
  });
});
