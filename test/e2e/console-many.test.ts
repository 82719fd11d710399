import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { scratchFolder } from '../support/cli.ts';
import { openConsole, WIDE } from '../support/console-scene.ts';
import { pagesService, sendTo } from '../support/pages-service.ts';

/** More than fit on one page. */
const MANY = 101;

describe.skipIf(chromiumPath === undefined)('many objects and small numbers in the console', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' } });
  let session = '';
  let ownerId = '';
  const ids: string[] = [];

  const send = (method: string, path: string, body?: object) => sendTo(service.url, session, method, path, body);

  beforeAll(async () => {
    const account = { email: 'admin@example.com', password: 'correct horse battery' };
    ({ id: ownerId } = await service.legate.users.create({ ...account, role: 'admin' }));
    ({ token: session } = await send('POST', '/sign-in', account));
    for (let n = 0; n < MANY; n++) {
      const name = n === MANY - 1 ? 'worker' : `worker-${n}`;
      const { id } = await service.legate.agents.create({ ownerId: ownerId as never, name, type: 'service' });
      await send('POST', '/budgets', { agentId: id, metric: 'calls', limit: n + 1, window: 'day' });
      ids.push(id);
    }
    for (const amount of [0.0001, 0.0002]) await send('POST', '/costs', { agentId: ids[0], amount });
  });

  const open = (path: string) => openConsole(service, session, path);

  it.each([
    ['budgets', (): string => '/signals/costs'],
    ['agents of a person', (): string => `/people/users/${ownerId}`],
  ] as const)('shows all %s, on several pages', async (_, path) => {
    const { page, context } = await open(path());
    const rows = page.locator('main table').first().locator('tbody a[href*="/agents/"]');
    const seen = new Set<string>();
    const read = async (): Promise<void> => {
      for (const href of await rows.evaluateAll((links) => links.map((e) => e.getAttribute('href') as string)))
        seen.add(href.split('/').at(-1) as string);
    };
    await rows.first().waitFor();
    await read();
    await page.getByRole('button', { name: 'Next page' }).click();
    await expect.poll(() => rows.count()).toBe(1);
    await read();
    expect([...seen].sort()).toEqual([...ids].sort());
    await context.close();
  });

  it('finds the agent of a test by its name, however many others have names that begin like it', async () => {
    const { page, context } = await open('/playground');
    const file = join(scratchFolder(), 'many.yaml');
    writeFileSync(file, 'tests:\n  - { agent: worker, action: read, resource: "a:b", expect: NO_PERMISSION }\n');
    await page.getByLabel('Test file').setInputFiles(file);
    await page.getByRole('button', { name: 'Run 1 test' }).click();
    await page.getByText('1 as expected, 0 different, 0 not run.').waitFor();
    await context.close();
  });

  it('shows amounts that are smaller than a thousandth', async () => {
    const { page, context } = await open('/signals/costs');
    await page.getByRole('cell', { name: '0.0003 USD' }).waitFor();
    await page.goto(`${service.url}/console`);
    await page.getByRole('link', { name: /^0\.0003 USD/ }).waitFor();
    await context.close();
  });

  it('uses the clock of the service for periods, not the one of the browser', async () => {
    const { token } = await send('POST', '/agents', { ownerId, name: 'asks', type: 'service' });
    await sendTo(service.url, token, 'POST', '/authorize', { action: 'read', resource: 'a:b' });
    const { page, context } = await service.open({ javaScriptEnabled: true, viewport: WIDE, locale: 'en' });
    await context.clock.install({ time: Date.now() + 3 * 86_400_000 });
    await context.addCookies([{ name: 'legate_session', value: session, domain: 'localhost', path: '/' }]);
    await page.goto(`${service.url}/console`);
    await page.getByRole('table', { name: 'Refusals by reason' }).getByText('No permission').waitFor();
    await context.close();
  });
});
