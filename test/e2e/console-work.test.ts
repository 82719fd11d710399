import { execFileSync } from 'node:child_process';
import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, expectGoodPage, PHONE, tabTo } from '../support/chromium.ts';
import { PROGRAM } from '../support/cli.ts';
import { pagesService } from '../support/pages-service.ts';

const WIDE = { width: 1440, height: 900 } as const;

describe.skipIf(chromiumPath === undefined)('work on the screens of the console', () => {
  const service = pagesService({
    users: { requireSecondFactor: 'none' },
    webhooks: { allowPrivateNetworks: true },
  });
  const sessions = new Map<string, string>();
  let adminId = '';

  const send = async (method: string, path: string, body?: unknown, token = sessions.get('admin')) => {
    const response = await fetch(service.url + path, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers of the API.
    const answer = (await response.json().catch(() => undefined)) as any;
    expect(response.status, `${method} ${path} ${JSON.stringify(answer)}`).toBeLessThan(300);
    return answer;
  };
  const newAgent = (name: string, permissions: readonly object[] = []) =>
    send('POST', '/agents', { ownerId: adminId, name, type: 'service', permissions });

  beforeAll(async () => {
    for (const role of ['admin', 'user'] as const) {
      const email = `${role}@example.com`;
      await service.legate.users.create({ email, password: 'correct horse battery', role });
      const { token } = await send('POST', '/sign-in', { email, password: 'correct horse battery' }, 'none');
      sessions.set(role, token);
    }
    adminId = (await send('GET', '/auth/session')).user.id;
  });

  async function openAs(role: string, options = {}): Promise<{ page: Page; context: BrowserContext; bad: string[] }> {
    const { page, context, complaints } = await service.open({ javaScriptEnabled: true, viewport: WIDE, ...options });
    await context.addCookies([
      { name: 'legate_session', value: sessions.get(role) as string, domain: 'localhost', path: '/' },
    ]);
    return { page, context, bad: complaints };
  }
  async function go(page: Page, path: string): Promise<void> {
    await page.goto(`${service.url}/console${path}`);
    await page.waitForSelector('h1');
    await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
  }

  it('allows a refused call from now on, with the narrowest permission, by keyboard', async () => {
    const agent = await newAgent('narrow', [{ resource: 'db:*', actions: ['read'] }]);
    const ask = () => send('POST', '/authorize', { action: 'write', resource: 'db:orders:7' }, agent.token);
    const { auditId } = await ask();
    const { page, context, bad } = await openAs('admin');
    await go(page, `/audit/${auditId}`);
    await tabTo(page, 'Allow from now on');
    await page.keyboard.press('Enter');
    await page.getByText('May write on db:orders:7').waitFor();
    await page.getByRole('button', { name: 'Review changes' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('May write on db:orders:7').waitFor();
    await page.locator('dialog .primary:enabled').waitFor();
    await tabTo(page, 'Save permissions');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await send('GET', `/agents/${agent.id}`)).permissions).toEqual([
      { resource: 'db:*', actions: ['read'] },
      { resource: 'db:orders:7', actions: ['write'] },
    ]);
    expect(new URL(page.url()).search).toBe('');
    expect((await ask()).allowed).toBe(true);
    expect(bad).toEqual([]);
    await context.close();
  });

  it('saves a decision as a test that legate test confirms', async () => {
    const agent = await newAgent('tested', [
      { resource: 'db:*', actions: ['read'], constraints: { allowedArgPatterns: ['safe*'] } },
    ]);
    const { page, context } = await openAs('admin');
    for (const [action, args, expected] of [
      ['read', { query: 'safe one' }, 'allowed'],
      ['write', {}, 'NO_PERMISSION'],
    ] as const) {
      const question = { action, resource: 'db:orders', arguments: args };
      const { auditId } = await send('POST', '/authorize', question, agent.token);
      await go(page, `/audit/${auditId}`);
      if (expected === 'allowed') await page.getByText(/^written by .*admin@example\.com/).waitFor();
      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Save as test' }).click();
      const path = await (await saved).path();
      expect(execFileSync(process.execPath, [PROGRAM, 'test', path], { encoding: 'utf8' })).toContain('1 decision');
      expect(execFileSync('cat', [path], { encoding: 'utf8' })).toContain(`"expect": "${expected}"`);
    }
    await context.close();
  });

  it('counts down by the clock of the service, and shows the outcome of an approval decided elsewhere', async () => {
    const agent = await newAgent('asks', [
      { resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } },
    ]);
    const { approvalId } = await send('POST', '/authorize', { action: 'pay', resource: 'bank:1' }, agent.token);
    const approval = await send('GET', `/approvals/${approvalId}`);
    const { page, context } = await openAs('admin', { viewport: PHONE });
    // The clock of the phone is a day ahead, so by its time the approval has expired.
    await page.clock.install({ time: Date.now() + 86_400_000 });
    await go(page, `/approvals/${approvalId}`);
    const left = (Date.parse(approval.expiresAt) - Date.now()) / 60_000;
    const text = await page.locator('.card time').first().innerText();
    expect(Math.abs(Number.parseInt(text, 10) - left), text).toBeLessThan(2);
    await page.getByText('asks asks to pay bank:1').waitFor();
    await page.clock.runFor(1000);
    const approve = page.getByRole('button', { name: 'Approve' });
    await approve.scrollIntoViewIfNeeded();
    await expect.poll(() => approve.isEnabled()).toBe(true);
    // The event stream of the page is broken, so it does not learn of the decision before the click.
    await page.route('**/events/**', (route) => route.abort());
    await send('POST', `/approvals/${approvalId}/deny`, { note: 'too much' });
    await approve.click();
    await page.getByText('Your answer came too late').waitFor();
    await page.getByText('too much').first().waitFor();
    expect((await send('GET', `/approvals/${approvalId}`)).status).toBe('denied');
    await context.close();
  });

  it('shows permissions of a delegation and those without effect, and asks for a name if others lose any', async () => {
    const source = await newAgent('source', [
      { resource: 'db:*', actions: ['read'] },
      { resource: 'mail:*', actions: ['send'] },
    ]);
    const target = await newAgent('target');
    const { id } = await send('POST', '/delegations', {
      fromAgent: source.id,
      toAgent: target.id,
      permissions: [
        { resource: 'db:orders:*', actions: ['read'] },
        { resource: 'mail:out', actions: ['send'] },
      ],
    });
    await send('PATCH', `/agents/${source.id}`, { permissions: [{ resource: 'db:*', actions: ['read'] }] });
    const { page, context, bad } = await openAs('admin');
    await go(page, '/agents/graph');
    await page.getByRole('button', { name: 'What source passes to target' }).click();
    await page.waitForURL(`**/agents/graph?link=${id}`);
    await page.getByText('No effect: source does not hold this permission now').waitFor();
    expect(await page.locator('main s').allInnerTexts()).toEqual(['May send on mail:out']);
    await page.getByText('target: loses 1 permission').waitFor();
    await expectGoodPage(page, 'console-narrowing');
    await go(page, `/agents/${source.id}`);
    await page.getByRole('button', { name: 'Revoke' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('target: loses').waitFor();
    expect(await dialog.getByRole('button', { name: 'Revoke' }).isEnabled()).toBe(false);
    await dialog.getByLabel(/^Other agents lose permissions too/).fill('source');
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.locator('.facts').getByText('Revoked').waitFor();
    expect((await send('GET', `/agents/${target.id}/permissions`)).length).toBe(0);
    expect(bad).toEqual([]);
    await context.close();
  });

  it('revokes several agents after one preview of their combined effects', async () => {
    const permissions = [{ resource: 'joint:*', actions: ['read'] }];
    const sources = [await newAgent('joint one', permissions), await newAgent('joint two', permissions)];
    const target = await newAgent('joint heir');
    for (const { id } of sources)
      await send('POST', '/delegations', { fromAgent: id, toAgent: target.id, permissions });
    await send('POST', '/authorize', { action: 'read', resource: 'joint:1' }, sources[0].token);
    const { page, context, bad } = await openAs('admin', { viewport: PHONE });
    await go(page, '/agents?q=joint');
    await page.locator('.trend svg path[d*="v-16"]').first().waitFor({ state: 'attached' });
    await page.getByLabel('Select joint one').check();
    await page.getByLabel('Select joint two').check();
    await page.getByText('2 selected').waitFor();
    await page.getByRole('button', { name: 'Revoke selected' }).click();
    const dialog = page.getByRole('dialog');
    // Revoking only one of them would leave the heir its permission.
    await dialog.getByText('joint heir: loses 2 permissions, keeps 0').waitFor();
    await expectGoodPage(page, 'console-revoke-several');
    expect(await dialog.getByRole('button', { name: 'Revoke selected' }).isEnabled()).toBe(false);
    await dialog.getByLabel(/^Other agents lose permissions too/).fill('2 agents');
    await dialog.getByRole('button', { name: 'Revoke selected' }).click();
    await page.getByText('0 selected').waitFor();
    for (const { id } of sources) expect((await send('GET', `/agents/${id}`)).status).toBe('revoked');
    expect((await send('GET', `/agents/${target.id}`)).status).toBe('active');
    expect(await page.getByLabel('Select joint one').count()).toBe(0);
    expect(bad).toEqual([]);
    await context.close();
  });

  it('edits permissions in typed fields and as JSON, which stay in sync', async () => {
    const agent = await newAgent('edited', [{ resource: 'db:*', actions: ['read'] }]);
    await send('POST', '/authorize', { action: 'export', resource: 'db:orders:7' }, agent.token);
    const { page, context, bad } = await openAs('admin', { viewport: PHONE });
    await go(page, `/agents/${agent.id}`);
    const json = page.getByLabel('All permissions as JSON');
    await page.getByText('Add permission').click();
    const entry = page.getByRole('group', { name: 'Permission 2' });
    // A colon begins the next segment, with suggestions from the agent's requests.
    await entry.getByLabel('Segment 1').fill('db:orders:');
    await expect.poll(() => entry.getByLabel('Segment 3').evaluate((e) => e === document.activeElement)).toBe(true);
    const offered = (label: string) =>
      entry
        .getByLabel(label)
        .evaluate((e) => [...((e as HTMLInputElement).list?.options ?? [])].map(({ value }) => value));
    await expect.poll(() => offered('Segment 3')).toEqual(['7', '*']);
    await page.keyboard.type('*');
    await entry.getByLabel('Actions').focus();
    await expect.poll(() => offered('Actions')).toContain('export');
    await entry.getByLabel('Actions').fill('export write ');
    await entry.getByText('Conditions').click();
    await entry.getByLabel('Calls per hour').fill('3');
    await entry.getByLabel('Allowed addresses').fill('nonsense 192.0.2.0/24 ');
    await entry.getByLabel('Allowed arguments').fill('/srv/my notes/**');
    await page.keyboard.press('Enter');
    await entry.getByLabel('Only at certain times').check();
    await entry.getByLabel('Time zone').fill('Europe/Berlin');
    await entry.getByLabel('Fri').check();
    await entry.getByLabel('Mon').check();
    const wanted = {
      resource: 'db:orders:*',
      actions: ['export', 'write'],
      constraints: {
        maxCallsPerHour: 3,
        timeWindow: { start: '09:00', end: '17:00', timeZone: 'Europe/Berlin', days: ['mon', 'fri'] },
        ipAllowlist: ['192.0.2.0/24'],
        allowedArgPatterns: ['/srv/my notes/**'],
      },
    };
    await page.getByRole('button', { name: 'Review changes' }).click();
    await entry.getByText('An entry is neither an address').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await entry.getByRole('button', { name: 'Remove nonsense' }).click();
    expect(JSON.parse(await json.inputValue())[1]).toEqual(wanted);
    await expectGoodPage(page, 'console-editor-phone');
    await page.setViewportSize(WIDE);
    await expectGoodPage(page, 'console-editor-wide');
    // A text that the service would refuse is not applied; a correction is.
    const second = { ...wanted, constraints: { maxCalls: 3 } };
    await json.fill(JSON.stringify([wanted, second]));
    await page.getByText('has the unknown field maxCalls').waitFor();
    await json.fill(JSON.stringify([{ ...wanted, actions: ['export'] }]));
    await page.getByRole('group', { name: 'Permission 2' }).waitFor({ state: 'detached' });
    expect(await page.getByRole('button', { name: /^Remove (export|write)$/ }).allInnerTexts()).toEqual(['export']);
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save permissions' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await send('GET', `/agents/${agent.id}`)).permissions).toEqual([{ ...wanted, actions: ['export'] }]);
    expect(bad).toEqual([]);
    await context.close();
  });

  it('selects a period with sliders or by dragging, and exports what the screen shows', async () => {
    const agent = await newAgent('busy', [{ resource: 'db:*', actions: ['read'] }]);
    for (let n = 0; n < 3; n++) await send('POST', '/authorize', { action: 'read', resource: `db:${n}` }, agent.token);
    const { page, context } = await openAs('admin');
    await go(page, `/audit?q=agent:${agent.id}`);
    const links = page.getByRole('link', { name: /^Export/ });
    const exported = await page.request.get(
      new URL((await links.first().getAttribute('href')) ?? '', service.url).href,
    );
    const lines = (await exported.text()).trim().split('\n');
    expect(lines.length).toBe(4);
    await page.getByText('Choose a period').click();
    await page.getByLabel('Start of the period').focus();
    await page.keyboard.press('ArrowRight');
    await tabTo(page, 'Show this period');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/audit?*since=*until=*');
    await page.getByRole('button', { name: 'Whole range' }).click();
    await expect.poll(() => new URL(page.url()).search).not.toContain('since');
    await expect.poll(() => page.locator('.dim').count()).toBe(0);
    const box = await page.locator('.bars').first().boundingBox();
    if (!box) throw new Error('No chart');
    await page.mouse.move(box.x + box.width * 0.25, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL('**/audit?*since=*until=*');
    const { searchParams } = new URL(page.url());
    const [since, until] = ['since', 'until'].map((name) => Date.parse(searchParams.get(name) ?? ''));
    expect(until).toBeGreaterThan(since as number);
    await context.close();
  });

  it('follows new decisions by the filter of the screen, and keeps them back while it is paused', async () => {
    const agent = await newAgent('followed', [{ resource: 'db:*', actions: ['read'] }]);
    const ask = (resource: string) => send('POST', '/authorize', { action: 'read', resource }, agent.token);
    const { page, context } = await openAs('admin');
    await go(page, `/audit?follow=on&q=agent:${agent.id}`);
    // A stream that was just opened may miss earlier entries.
    await expect
      .poll(
        async () => {
          await ask('db:first');
          return page.getByText('db:first').count();
        },
        { timeout: 30_000 },
      )
      .toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Pause' }).click();
    await ask('db:second');
    await page.getByText(/^\d+ new$/).waitFor();
    expect(await page.getByText('db:second').count()).toBe(0);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('db:second').first().waitFor();
    await context.close();
  });

  it('follows new decisions again after a filter that the service refuses', async () => {
    const { page, context } = await openAs('admin');
    await go(page, '/audit?follow=on&q=result:nonsense');
    await page.getByRole('alert').getByText('VALIDATION_FAILED').first().waitFor();
    await page.getByLabel('Filter').fill('action:read');
    await page.getByRole('button', { name: 'Apply' }).click();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    await context.close();
  });

  it('shows what an agent could do, and asks with an address, a time and a draft', async () => {
    const agent = await newAgent('could', [
      { resource: 'mcp:desk:read', actions: ['execute'], constraints: { maxCallsPerHour: 5 } },
      { resource: 'mcp:desk:pay', actions: ['execute'], constraints: { requireApproval: true } },
    ]);
    const { page, context, bad } = await openAs('admin');
    await go(page, '/connections/servers');
    await page.getByRole('button', { name: 'Register server' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('desk');
    await dialog.getByLabel('Endpoint').fill('https://desk.example/mcp');
    await dialog.getByLabel('Tools').fill('read pay drop');
    await dialog.getByRole('button', { name: 'Register server' }).click();
    await page.getByRole('link', { name: 'desk' }).click();
    await page.getByRole('heading', { name: 'Who may execute' }).waitFor();
    await page.locator('main').getByRole('link', { name: 'could' }).waitFor();
    await go(page, `/agents/${agent.id}/could`);
    const row = (tool: string) => page.getByRole('row', { name: `mcp:desk:${tool}` }).innerText();
    expect(await row('read')).toContain('5 left this hour');
    expect(await row('pay')).toContain('Approval required');
    expect(await row('drop')).toContain('No');
    await expectGoodPage(page, 'console-could');
    const query = new URLSearchParams({
      agentId: agent.id,
      action: 'read',
      resource: 'db:1',
      at: '2030-01-01T12:00',
      ip: '10.0.0.1',
      draft: JSON.stringify([{ resource: 'db:*', actions: ['read'], constraints: { ipAllowlist: ['10.0.0.0/8'] } }]),
    });
    await go(page, `/playground?${query}`);
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('could would be allowed to read db:1.').waitFor();
    await page.getByLabel('Address').fill('192.0.2.1');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('could would not be allowed to read db:1.').waitFor();
    expect(bad).toEqual([]);
    await context.close();
  });

  it('registers a webhook and finds out why a receiver refuses its message', async () => {
    const { page, context, bad } = await openAs('user');
    await go(page, '/connections/webhooks');
    await page.getByRole('button', { name: 'Register webhook' }).click();
    await page.getByRole('dialog').getByLabel('Address').fill('http://127.0.0.1:9/hook');
    await page.getByRole('dialog').getByRole('button', { name: 'Register webhook' }).click();
    await page.getByText('Copy this now').waitFor();
    const secret = await page.locator('dialog code').innerText();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('link', { name: 'http://127.0.0.1:9/hook' }).click();
    await page.getByRole('button', { name: 'Send test' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send test' }).click();
    await page.getByRole('button', { name: 'Open' }).first().click();
    await page.getByText('Why does my receiver refuse it?').click();
    await page.getByLabel('webhook-timestamp').fill('1800000000');
    await page.getByLabel('webhook-signature').fill(`v1,${Buffer.alloc(32).toString('base64')}`);
    await page.getByLabel('Secret of the receiver').fill(secret);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('The secret is wrong, or the timestamp').waitFor();
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await page.locator('.facts .status', { hasText: 'Disabled' }).waitFor();
    expect(bad).toEqual([]);
    await context.close();
  });
});
