import { cpSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { chromiumPath, openContext } from '../support/chromium.ts';
import { root, scratchFolder, serve, signUp } from '../support/cli.ts';
import { settled, WIDE } from '../support/console-scene.ts';

describe.skipIf(chromiumPath === undefined)('the console during a crash of the service', () => {
  it('shows the broken connection, and afterwards every decision once; a draft is kept', async () => {
    const cwd = scratchFolder();
    const first = await serve({ cwd });
    const { url } = first;
    const port = new URL(url).port;
    let token = '';
    // biome-ignore lint/suspicious/noExplicitAny: answers of the API.
    const send = async (method: string, path: string, body?: object): Promise<any> => {
      const response = await fetch(url + path, {
        method,
        headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      expect(response.status, `${method} ${path}`).toBeLessThan(300);
      return response.json();
    };
    const setup = new URL(first.output().match(/\S+\/setup\?token=\S+/)?.[0] as string).searchParams.get('token');
    const account = { email: 'admin@example.com', password: 'correct horse battery' };
    const made = await send('POST', '/setup', { token: setup, ...account });
    ({ token } = made);
    const agent = await send('POST', '/agents', { ownerId: made.user.id, name: 'live', type: 'service' });
    const decide = (n: number) =>
      send('POST', '/authorize', { agentId: agent.id, action: 'read', resource: `db:${n}` });

    const context = await openContext({ viewport: WIDE });
    await context.addCookies([{ name: 'legate_session', value: token, url }]);
    const open = async (path: string): Promise<Page> => {
      const page = await context.newPage();
      await page.goto(`${url}/console${path}`);
      await settled(page);
      await page.locator('.pill.live').waitFor();
      return page;
    };
    const list = await open('/audit');
    const tail = await open('/audit?follow=on');
    const editor = await open(`/agents/${agent.id}`);
    const shown = (): Promise<string[]> => tail.locator('tbody td[data-label=Resource]').allInnerTexts();

    let n = 0;
    await expect.poll(async () => (await decide(++n)) && (await shown()).length).toBeGreaterThan(0);
    await decide(++n);
    await expect.poll(shown).toContain(`db:${n}`);
    const [newest] = await shown();
    expect(newest).toBe(`db:${n}`);
    await editor.getByRole('button', { name: 'Add permission' }).click();
    await editor.getByLabel('Segment 1').fill('kept');

    first.process.kill('SIGKILL');
    for (const page of [list, tail, editor]) await page.locator('.pill.retrying').waitFor();
    await serve({ cwd, env: { PORT: port } });
    const before = n;
    for (let i = 0; i < 3; i++) await decide(++n);
    for (const page of [list, tail, editor]) await page.locator('.pill.live').waitFor();
    await decide(++n);
    await expect.poll(shown).toContain(`db:${n}`);
    // The screen shows every entry since the first one, newest first and without duplicates.
    const rows = await shown();
    const recorded = (await send('GET', `/audit?order=desc&limit=${rows.length}`)) as { resource: string }[];
    expect(rows).toEqual(recorded.map(({ resource }) => resource));
    expect(rows.length).toBeGreaterThanOrEqual(n - before + 2);
    await list.getByRole('button', { name: `${n} new` }).click();
    await expect
      .poll(() => list.locator('tbody td[data-label=Resource]').allInnerTexts())
      .toEqual(Array.from({ length: n }, (_, i) => `db:${n - i}`));
    await settled(editor);
    expect(await editor.getByLabel('Segment 1').inputValue()).toBe('kept');
    await context.close();
  });
});

describe('the console while an upgrade replaces the files of the running service', () => {
  it('keeps the files that its pages name, the fonts of other pages included', async () => {
    const cwd = scratchFolder();
    for (const path of ['package.json', 'dist']) cpSync(join(root, path), join(cwd, path), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'));
    const { url } = await serve({ cwd, command: [process.execPath, join(cwd, 'dist/cli.js'), 'serve'] });
    const { token } = await signUp(url);
    const headers = { cookie: `legate_session=${token}` };
    const filesOf = async (page: string): Promise<string[]> => {
      const text = await (await fetch(url + page, { headers })).text();
      return [...text.matchAll(/\/console\/assets\/[\w.-]+/g)].map(([path]) => path);
    };
    const named = [...(await filesOf('/console')), ...(await filesOf('/account'))];
    expect(named.map((path) => path.split('.').at(-1))).toEqual(expect.arrayContaining(['js', 'css', 'svg', 'woff2']));
    const assets = join(cwd, 'dist/console-assets/assets');
    for (const name of readdirSync(assets)) renameSync(join(assets, name), join(assets, `next-${name}`));
    for (const path of [...named, ...(await filesOf('/console'))])
      expect((await fetch(url + path)).status, path).toBe(200);
  });
});
