import { describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { pagesService } from '../support/pages-service.ts';

describe.skipIf(chromiumPath === undefined)('erasure in the console', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' } });

  it('shows what will be erased, erases a decision and then the person, and marks what was erased', async () => {
    const { users, agents, audit } = service.legate;
    const password = 'correct horse battery';
    await users.create({ email: 'admin@example.com', password, role: 'admin' });
    const { id } = await users.create({ email: 'person@example.com', password, name: 'Ada' });
    const permissions = [{ resource: 'db:*', actions: ['read'] }];
    const agent = await agents.create({ ownerId: id, name: 'reader', type: 'service', permissions });
    const headers = { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ action: 'read', resource: 'db:x', arguments: { street: 'Rue des Lilas' } });
    for (let i = 0; i < 2; i++) await fetch(`${service.url}/authorize`, { method: 'POST', headers, body });
    const [first] = (await audit.query({ order: 'asc' })).entries;

    const { page, context, complaints } = await service.open({
      javaScriptEnabled: true,
      viewport: { width: 1440, height: 900 },
    });
    await page.goto(`${service.url}/console/audit/${first?.id}`);
    await page.fill('#email', 'admin@example.com');
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    const dialog = page.getByRole('dialog');
    await page.getByText('Rue des Lilas').first().waitFor();
    await page.getByRole('button', { name: 'Erase', exact: true }).click();
    await dialog.getByText('of 1 decision will be erased').waitFor();
    await dialog.getByLabel('Reason (optional').fill('asked for it');
    await dialog.getByRole('button', { name: 'Erase', exact: true }).click();
    await page.getByText('of this decision were erased').waitFor();
    expect(await page.getByText('Rue des Lilas').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Erase', exact: true }).count()).toBe(0);
    expect(await page.locator('tbody').getByText('Erased').count()).toBe(1);

    await page.goto(`${service.url}/console/people/users/${id}`);
    await page.getByRole('button', { name: 'Erase person' }).click();
    await dialog.getByText('of 1 decision will be erased').waitFor();
    await dialog.getByText('reader').waitFor();
    await dialog.getByRole('button', { name: 'Erase person' }).click();
    await page.waitForURL('**/console/people/users');
    await expect(users.get(id)).rejects.toThrow();
    expect((await audit.query({})).entries.map(({ erased, parameters }) => [erased, parameters])).toEqual([
      [true, {}],
      [true, {}],
    ]);
    await page.goto(`${service.url}/console/audit`);
    await page.getByText('of 2 decisions on this page were erased').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
