import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, tabTo } from '../support/chromium.ts';
import { settled, WIDE } from '../support/console-scene.ts';
import { pagesService, sendTo } from '../support/pages-service.ts';

describe.skipIf(chromiumPath === undefined)('the console with the keyboard alone', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' } });
  let token = '';
  let adminId = '';

  const send = (method: string, path: string, body?: object, as = token) => sendTo(service.url, as, method, path, body);
  const newAgent = (name: string, permissions: readonly object[] = []) =>
    send('POST', '/agents', { ownerId: adminId, name, type: 'service', permissions });

  beforeAll(async () => {
    const account = { email: 'admin@example.com', password: 'correct horse battery' };
    ({ id: adminId } = await service.legate.users.create({ ...account, role: 'admin' }));
    ({ token } = await send('POST', '/sign-in', account, 'none'));
  });

  async function open(path: string) {
    const { page, context } = await service.open({ javaScriptEnabled: true, viewport: WIDE });
    await context.addCookies([{ name: 'legate_session', value: token, domain: 'localhost', path: '/' }]);
    await page.goto(`${service.url}/console${path}`);
    await settled(page);
    const press = async (name: string): Promise<void> => {
      await tabTo(page, name);
      await page.keyboard.press('Enter');
    };
    const type = async (label: string, text: string): Promise<void> => {
      await tabTo(page, label);
      await page.keyboard.press('Control+a');
      await page.keyboard.type(text);
    };
    return { page, context, press, type };
  }

  it('gives an agent a permission, has one decision allowed, and another refused', async () => {
    const agent = await newAgent('typist');
    const { page, context, press, type } = await open(`/agents/${agent.id}`);
    await press('Add permission');
    await type('Segment 1', 'db:orders');
    await type('Actions', 'read ');
    await press('Review changes');
    await page.locator('dialog .primary:enabled').waitFor();
    await press('Save permissions');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await send('GET', `/agents/${agent.id}`)).permissions).toEqual([
      { resource: 'db:orders', actions: ['read'] },
    ]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('y');
    await page.waitForURL('**/console/playground');
    await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
    await type('Agent', agent.id);
    await type('Action', 'read');
    await type('Resource', 'db:orders');
    await press('Ask');
    await page.getByText('typist would be allowed to read db:orders.').waitFor();
    await page.keyboard.press('Escape');
    await type('Resource', 'db:people');
    await press('Ask');
    await page.getByText('typist would not be allowed to read db:people.').waitFor();
    await context.close();
  });

  it('approves one call and denies another with a note', async () => {
    const pay = { resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } };
    const agent = await newAgent('payer', [pay]);
    const ask = (resource: string) => send('POST', '/authorize', { action: 'pay', resource }, agent.token);
    const first = await ask('bank:1');
    const second = await ask('bank:2');
    const { page, context, press, type } = await open('/approvals');
    const enabled = (name: string) => page.locator('.card').first().getByRole('button', { name, disabled: false });
    await enabled('Deny').waitFor();
    await tabTo(page, 'Note (optional)');
    await enabled('Approve').waitFor();
    await press('Approve');
    await page.getByText('payer asks to pay bank:1').waitFor({ state: 'detached' });
    await type('Note (optional)', 'not this one');
    await enabled('Deny').waitFor();
    await press('Deny');
    await page.getByText('Nothing is waiting for you').waitFor();
    expect((await send('GET', `/approvals/${first.approvalId}`)).status).toBe('approved');
    const denied = await send('GET', `/approvals/${second.approvalId}`);
    expect(denied).toMatchObject({ status: 'denied', note: 'not this one' });
    await context.close();
  });

  it('opens an agent and a link of the delegation graph, and revokes the link', async () => {
    const permissions = [{ resource: 'db:*', actions: ['read'] }];
    const source = await newAgent('giver', permissions);
    const target = await newAgent('taker');
    const { id } = await send('POST', '/delegations', { fromAgent: source.id, toAgent: target.id, permissions });
    const { page, context, press } = await open('/agents/graph');
    await press('giver');
    await page.getByRole('heading', { level: 1, name: 'giver' }).waitFor();
    await page.goBack();
    await settled(page);
    await press('What giver passes to taker');
    await page.waitForURL(`**/agents/graph?link=${id}`);
    await page.getByText('taker: loses 1 permission').waitFor();
    await press('Revoke');
    await page.locator('dialog .danger:enabled').waitFor();
    await press('Revoke');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await send('GET', `/agents/${target.id}/permissions`)).length).toBe(0);
    await context.close();
  });

  it('keeps the note of an approval that moves, and disables its buttons for a moment again', async () => {
    const pay = { resource: 'shop:*', actions: ['pay'], constraints: { requireApproval: true } };
    const agent = await newAgent('mover', [pay]);
    const ask = (resource: string) => send('POST', '/authorize', { action: 'pay', resource }, agent.token);
    const first = await ask('shop:1');
    await ask('shop:2');
    const { page, context } = await open('/agents');
    await page.clock.install();
    await page.goto(`${service.url}/console/approvals`);
    await settled(page);
    const card = page.getByRole('article', { name: 'mover asks to pay shop:2' });
    const deny = card.getByRole('button', { name: 'Deny' });
    await page.clock.runFor(1000);
    await expect.poll(() => deny.isEnabled()).toBe(true);
    await card.getByLabel('Note (optional)').fill('being written');
    await page.locator('.pill.live').waitFor();
    await page.clock.pauseAt(Date.now() + 60_000);
    await send('POST', `/approvals/${first.approvalId}/deny`, {});
    const other = page.getByText('mover asks to pay shop:1');
    await expect
      .poll(
        async () => {
          await page.clock.runFor(100);
          return other.count();
        },
        { timeout: 30_000 },
      )
      .toBe(0);
    expect(await deny.isDisabled()).toBe(true);
    expect(await card.getByLabel('Note (optional)').inputValue()).toBe('being written');
    await page.clock.runFor(1000);
    expect(await deny.isEnabled()).toBe(true);
    await context.close();
  });
});
