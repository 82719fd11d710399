import { describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { consoleScene, settled, visit } from '../support/console-scene.ts';

describe.skipIf(chromiumPath === undefined)('unsent input on the console', () => {
  const scene = consoleScene();

  it('is in the form again after a reload and after leaving the screen, until it is discarded or sent', async () => {
    const { page, context, complaints } = await scene.openAs('user');
    await scene.go(page, '/connections/webhooks');
    const dialog = page.getByRole('dialog');
    const url = dialog.getByLabel('Address', { exact: true });
    await page.getByRole('button', { name: 'Register webhook' }).click();
    await url.fill('http://127.0.0.1:9/typed');
    await page.reload();
    await expect.poll(() => url.inputValue()).toBe('http://127.0.0.1:9/typed');
    await page.goBack();
    await page.goForward();
    await expect.poll(() => url.inputValue()).toBe('http://127.0.0.1:9/typed');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.reload();
    await settled(page);
    expect(await dialog.count()).toBe(0);

    await page.getByRole('button', { name: 'Register webhook' }).click();
    await url.fill('http://127.0.0.1:9/sent');
    await dialog.getByRole('button', { name: 'Register webhook' }).click();
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await page.reload();
    await settled(page);
    expect(await dialog.count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('is in the editor of permissions again after another tab of the agent, and a link adds to it once', async () => {
    const { page, context } = await scene.openAs('user');
    const { agent } = scene.of.user;
    const segments = () =>
      page.getByLabel('Segment 1').evaluateAll((inputs) => inputs.map((e) => (e as HTMLInputElement).value));
    await scene.go(page, `/agents/${agent}`);
    const before = await segments();
    await page.getByRole('button', { name: 'Add permission' }).click();
    await page.getByLabel('Segment 1').last().fill('kept');
    await visit(page, `/agents/${agent}/history`);
    await visit(page, `/agents/${agent}`);
    expect(await segments()).toEqual([...before, 'kept']);
    await visit(page, `/agents/${agent}/history`);
    await visit(page, `/agents/${agent}?add=bank%3A1&actions=write`);
    expect(await segments()).toEqual([...before, 'kept', 'bank']);
    await page.reload();
    await settled(page);
    expect(await segments()).toEqual([...before, 'kept', 'bank']);
    await page.getByRole('button', { name: 'Discard changes' }).click();
    expect(await segments()).toEqual(before);
    await page.reload();
    await settled(page);
    expect(await segments()).toEqual(before);
    await context.close();
  });

  it('is in the playground again, even if it is too long for an address', async () => {
    const { page, context, complaints } = await scene.openAs('user');
    await scene.go(page, '/playground');
    const args = page.getByLabel('Arguments as JSON');
    const long = JSON.stringify({ text: 'long '.repeat(5000) });
    await args.fill(long);
    await page.reload();
    await settled(page);
    expect(await args.inputValue()).toBe(long);
    expect(page.url().length).toBeLessThan(200);
    await args.fill('{"a":1}');
    await page.reload();
    await settled(page);
    expect(await args.inputValue()).toBe('{"a":1}');
    expect(new URL(page.url()).searchParams.get('args')).toBe('{"a":1}');
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('is in the playground again, a long text next to a short one, and fits into the address', async () => {
    const { page, context } = await scene.openAs('user');
    await scene.go(page, '/playground');
    const args = page.getByLabel('Arguments as JSON');
    const draft = page.getByLabel('Draft permissions');
    const long = JSON.stringify([{ resource: `db:${'x'.repeat(3000)}`, actions: ['read'] }]);
    await args.fill('{"a":1}');
    await page.locator('summary').first().click();
    await draft.fill(long);
    await page.reload();
    await settled(page);
    expect([await args.inputValue(), await draft.inputValue()]).toEqual(['{"a":1}', long]);
    // Another question does not get the draft of this one.
    await page.goto(`${scene.service.url}/account`);
    await scene.go(page, '/playground?args=%7B%22b%22%3A2%7D');
    expect([await args.inputValue(), await draft.inputValue()]).toEqual(['{"b":2}', '']);

    // Each of these characters takes nine in an address.
    const wide = JSON.stringify({ text: '話'.repeat(1900) });
    await args.fill(wide);
    await page.reload();
    await settled(page);
    expect(await args.inputValue()).toBe(wide);
    expect(page.url().length).toBeLessThan(200);
    await context.close();
  });

  it('is not shown to another person who signs in', async () => {
    const { page, context } = await scene.openAs('user');
    await scene.go(page, `/approvals/${scene.of.user.approval}`);
    await page.getByLabel('Note (optional)').fill('mine');
    await page.goto(`${scene.service.url}/account`);
    const other = await scene.openAs('admin');
    await context.clearCookies();
    await context.addCookies(await other.context.cookies());
    await scene.go(page, `/approvals/${scene.of.user.approval}`);
    expect(await page.getByLabel('Note (optional)').inputValue()).toBe('');
    await other.context.close();
    await context.close();
  });
});
