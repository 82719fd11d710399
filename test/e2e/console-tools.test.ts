import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, expectGoodPage, PHONE } from '../support/chromium.ts';
import { PROGRAM, scratchFolder } from '../support/cli.ts';
import { pagesService } from '../support/pages-service.ts';

const WIDE = { width: 1440, height: 900 } as const;

describe.skipIf(chromiumPath === undefined)('tools of the console, and agents with large amounts of data', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' }, agents: { maxPerOwner: 1000 } });
  let token = '';
  let ownerId = '';

  beforeAll(async () => {
    const [email, password] = ['admin@example.com', 'correct horse battery'];
    ownerId = (await service.legate.users.create({ email, password, role: 'admin' })).id;
    const response = await fetch(`${service.url}/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    });
    token = ((await response.json()) as { token: string }).token;
  });

  async function open(path: string, options = {}): Promise<{ page: Page; context: BrowserContext; bad: string[] }> {
    const { page, context, complaints } = await service.open({ javaScriptEnabled: true, viewport: WIDE, ...options });
    await context.addCookies([{ name: 'legate_session', value: token, domain: 'localhost', path: '/' }]);
    await page.goto(`${service.url}/console${path}`);
    await page.waitForSelector('h1');
    await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
    return { page, context, bad: complaints };
  }
  const newAgent = (name: string, permissions: readonly object[] = []) =>
    service.legate.agents.create({ ownerId, name, type: 'service', permissions: permissions as never });

  it('runs the tests of a file in the playground, and exports them for legate test', async () => {
    const agent = await newAgent('triage', [{ resource: 'mcp:github:*', actions: ['read'] }]);
    const { page, context, bad } = await open('/playground', { viewport: PHONE });
    const folder = scratchFolder();
    const choose = async (name: string, text: string): Promise<void> => {
      writeFileSync(join(folder, name), text);
      await page.getByLabel('Test file').setInputFiles(join(folder, name));
    };
    await choose('wrong.yaml', 'tests:\n  - agent: triage\n    acton: read\n');
    await page.getByRole('alert').getByText('tests.0.acton: unknown field').waitFor();
    await choose('broken.json', '{"tests": [');
    await page.getByRole('alert').getByText('JSON').waitFor();
    await choose(
      'mine.yaml',
      `now: 2030-01-15T10:00:00Z
tests:
  - { name: may read, agent: triage, action: read, resource: "mcp:github:pulls", expect: allowed }
  - { name: may not delete, agent: triage, action: delete, resource: "mcp:github:pulls", expect: NO_PERMISSION }
  - { name: wrong, agent: ${agent.id}, action: write, resource: "mcp:github:pulls", expect: allowed }
  - { name: counted, agent: triage, action: read, resource: "mcp:github:pulls", after: 2, expect: allowed }
  - { name: nobody, agent: ghost, action: read, resource: "a:b", expect: denied }
`,
    );
    await page.getByRole('button', { name: 'Run 5 tests' }).click();
    await page.getByText('2 as expected, 1 different, 2 not run.').waitFor();
    const row = (name: string) => page.getByRole('row', { name }).innerText();
    expect(await row('may read')).toContain('As expected');
    expect(await row('wrong')).toMatch(/Different[\s\S]*Allowed[\s\S]*No permission/);
    expect(await row('counted')).toContain('Not run');
    expect(await row('ghost')).toContain('no active agent of this name');
    await expectGoodPage(page, 'console-playground-tests');

    await page.getByLabel('Agent', { exact: true }).fill(agent.id);
    await page.getByLabel('Action', { exact: true }).fill('comment');
    await page.getByLabel('Resource', { exact: true }).fill('mcp:github:pulls');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByRole('button', { name: 'Add this question to the tests' }).click();
    await page.getByRole('button', { name: 'Run 6 tests' }).click();
    await page.getByText('3 as expected, 1 different, 2 not run.').waitFor();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export tests' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe('mine.json');

    // Permissions in the file replace those of the agent, as in legate test.
    const agents = '{"triage":{"permissions":[{"resource":"mcp:github:*","actions":["delete"]}]}}';
    const question = '"agent":"triage","action":"delete","resource":"mcp:github:pulls"';
    await choose('policy.json', `{"agents":${agents},"tests":[{${question},"expect":"allowed"}]}`);
    await page.getByRole('button', { name: 'Run 1 test' }).click();
    await page.getByText('1 as expected, 0 different, 0 not run.').waitFor();
    const exported = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export tests' }).click();
    const path = join(folder, 'exported.json');
    await (await exported).saveAs(path);
    const output = execFileSync(process.execPath, [PROGRAM, 'test', path], { encoding: 'utf8' });
    expect(output).toContain('1 decision as expected');
    expect(bad).toEqual([]);
    await context.close();
  });

  it('shows anomalies by agent and episode, with links to look closer and to stop the agent', async () => {
    const agent = await newAgent('prober');
    for (let n = 0; n < 40; n++)
      await service.legate.authorize({ agentId: agent.id, action: 'write', resource: `bank:${n}` });
    const { page, context, bad } = await open('/signals/anomalies');
    const episode = page.locator('.episode');
    await expect
      .poll(
        async () => {
          await page.reload();
          await page.waitForSelector('h1');
          await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
          return episode.locator('tbody tr').count();
        },
        { timeout: 60_000 },
      )
      .toBeGreaterThan(1);
    expect(await episode.count()).toBe(1);
    await episode.getByRole('heading', { name: 'prober' }).waitFor();
    await expectGoodPage(page, 'console-episodes');
    await episode.getByRole('link', { name: 'Audit' }).click();
    await page.waitForURL(/audit\?q=agent%3A.*since=.*until=/);
    await page.getByText('bank:39').first().waitFor();
    await page.goBack();
    await episode.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await service.legate.agents.get(agent.id)).status).toBe('revoked');
    expect(bad).toEqual([]);
    await context.close();
  });

  it('sends its files compressed as the client accepts them, and uncompressed otherwise', async () => {
    const { page, context } = await open('/playground');
    const address = await page.locator('script[src]').first().getAttribute('src');
    const file = new URL(address ?? '', service.url).href;
    const texts = [];
    for (const coding of ['br, gzip', 'gzip', 'identity']) {
      const response = await fetch(file, { headers: { 'accept-encoding': coding } });
      expect(response.headers.get('content-encoding')).toBe(coding === 'identity' ? null : coding.split(',')[0]);
      expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      texts.push(await response.text());
    }
    expect(new Set(texts).size).toBe(1);
    for (const name of [`${file}.gz`, file.replace(/main-/, 'none-')]) expect((await fetch(name)).status).toBe(404);
    await context.close();
  });

  it('edits one of a thousand permissions, of which it renders one page', async () => {
    const permissions = Array.from({ length: 1000 }, (_, i) => ({
      resource: `mcp:server${i % 40}:tool${i}:*`,
      actions: ['read', 'write'],
    }));
    const agent = await newAgent('holder of many', permissions.slice(0, 999));
    const { page, context, bad } = await open(`/agents/${agent.id}`);
    const entries = page.locator('fieldset.entry');
    expect(await entries.count()).toBe(25);
    expect(await page.locator('main table tbody tr').count()).toBe(100);
    await page.getByText('1 to 25 of 999').waitFor();
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByRole('group', { name: 'Permission 26' }).waitFor();
    await page.getByRole('button', { name: 'Add permission' }).click();
    const added = page.getByRole('group', { name: 'Permission 1000' });
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('The service would refuse this draft').waitFor();
    await added.getByText('Enter at least one action.').waitFor();
    await added.getByLabel('Segment 1').fill('db:orders');
    await added.getByLabel('Actions').fill('read ');
    await page.getByLabel('Find permissions by resource or action').fill('tool777:');
    await page.getByText('1 to 1 of 1').waitFor();
    await page.getByRole('group', { name: 'Permission 778' }).getByLabel('Actions').fill('export ');
    await page.getByRole('button', { name: 'Review changes' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('May read on db:orders').waitFor();
    await dialog.getByRole('button', { name: 'Save permissions' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { permissions: now } = await service.legate.agents.get(agent.id);
    expect(now).toHaveLength(1000);
    expect(now[777]?.actions).toEqual(['read', 'write', 'export']);
    expect(now[999]).toEqual({ resource: 'db:orders', actions: ['read'] });
    expect(bad).toEqual([]);
    await context.close();
  });

  it('collapses a graph of more than 300 nodes, and expands a node by a click', async () => {
    const permissions = [{ resource: 'mcp:hub:*', actions: ['read'] }];
    const hub = await newAgent('hub', permissions);
    const wide = await newAgent('wide', permissions);
    const leaves = await Promise.all(Array.from({ length: 330 }, (_, i) => newAgent(`leaf ${i}`)));
    await Promise.all(
      leaves.map(({ id }, i) =>
        service.legate.delegations.create({ fromAgent: i < 40 ? hub.id : wide.id, toAgent: id, permissions }),
      ),
    );
    const { page, context, bad } = await open('/agents/graph');
    const drawn = page.locator('.graph a');
    await page.getByText(/^\d+ of 333 agents and people are drawn/).waitFor();
    const before = await drawn.count();
    expect(before).toBeLessThanOrEqual(300);
    expect(await page.locator('main table tbody tr').count()).toBe(100);
    const covered = await page.locator('.graph').evaluate((graph) => {
      const boxes = [...graph.querySelectorAll('a rect')].map((one) => one.getBoundingClientRect());
      return [...graph.querySelectorAll('.fold rect')].filter((one) => {
        const fold = one.getBoundingClientRect();
        return boxes.some(
          (b) => b.left < fold.right && fold.left < b.right && b.top < fold.bottom && fold.top < b.bottom,
        );
      }).length;
    });
    expect(covered, 'buttons that cover the box of an agent').toBe(0);
    const outside = () =>
      page.locator('.graph svg').evaluate((svg) => {
        const { right } = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('.fold rect')].filter((one) => one.getBoundingClientRect().right > right)
          .length;
      });
    await expectGoodPage(page, 'console-graph-folded');
    const name = before < 100 ? 'wide' : 'hub';
    await page.getByRole('button', { name: new RegExp(`^Show \\d+ more of ${name}`) }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => drawn.count()).toBe(333);
    await page.getByRole('button', { name: `Hide what follows ${name}` }).click();
    await expect.poll(() => drawn.count()).toBe(before);
    await page
      .getByRole('button', { name: /^Hide what follows/ })
      .first()
      .click();
    await expect.poll(() => drawn.count()).toBe(1);
    expect(await outside(), 'buttons that are outside the picture').toBe(0);
    expect(bad).toEqual([]);
    await context.close();
  });
});
