import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { BUSY_MS, chromiumPath, complaintsOf, openContext, PHONE } from '../support/chromium.ts';
import { PROGRAM, root, scratchFolder, serve } from '../support/cli.ts';
import { connectV2, provider, REDIRECT } from '../support/mcp-clients.ts';
import type { WebPerson } from '../support/web-person.ts';

/**
 * The path from the command in the guide to an allowed, a refused and an approved call, using only the printed text.
 */

const EMAIL = 'me@example.com';
const PASSWORD = 'correct horse battery staple';
const NOTE = 'Water the plants';
const SERVER = '@modelcontextprotocol/server-filesystem';

/** A folder with notes where npx finds the reference server as an installed package. */
function folderOfNotes(): string {
  const cwd = realpathSync(scratchFolder());
  mkdirSync(join(cwd, 'notes'));
  writeFileSync(join(cwd, 'notes/todo.md'), NOTE);
  mkdirSync(join(cwd, 'node_modules/@modelcontextprotocol'), { recursive: true });
  mkdirSync(join(cwd, 'node_modules/.bin'));
  const installed = join(root, 'node_modules', SERVER);
  symlinkSync(installed, join(cwd, 'node_modules', SERVER));
  symlinkSync(join(installed, 'dist/index.js'), join(cwd, 'node_modules/.bin/mcp-server-filesystem'));
  return cwd;
}

/** Opens an address of the service, and signs in if it asks for it. */
async function visit(page: Page, address: string): Promise<void> {
  await page.goto(address);
  if (!new URL(page.url()).pathname.endsWith('/sign-in')) return;
  await page.fill('#email', EMAIL);
  await page.fill('#password', PASSWORD);
  await page.press('#password', 'Enter');
  await page.waitForURL((url) => !url.pathname.endsWith('/sign-in'));
}

/** A person who answers the consent page of an MCP client in a browser. */
const inBrowser = (context: BrowserContext): Pick<WebPerson, 'decide'> => ({
  decide: async (address) => {
    const page = await context.newPage();
    await visit(page, address);
    const goingBack = page.waitForRequest((request) => request.url().startsWith(REDIRECT));
    await page.click('button[name=decision][value=allow]');
    const back = new URL((await goingBack).url());
    await page.close();
    return back;
  },
});

describe.skipIf(chromiumPath === undefined)('legate gateway -- npx -y a reference server', () => {
  it('with only the printed text, a new user gets to calls allowed, refused and approved on a phone', async () => {
    const cwd = folderOfNotes();
    const service = await serve({
      cwd,
      env: { npm_config_offline: 'true' },
      command: [process.execPath, PROGRAM, 'gateway', '--', 'npx', '-y', SERVER, './notes'],
    });
    const printed = (pattern: RegExp): string => {
      const [, found] = pattern.exec(service.output()) ?? [];
      if (found === undefined) throw new Error(`${pattern} is not in what was printed:\n${service.output()}`);
      return found;
    };
    await expect.poll(() => service.output(), { timeout: 60_000 }).toMatch(/filesystem answers, and has \d+ tools\./);

    const desk = await openContext({ viewport: { width: 1280, height: 800 } });
    const complaints = complaintsOf(desk);
    const page = await desk.newPage();
    await page.goto(printed(/^ *Set-up +(\S+)$/m));
    await page.fill('#email', EMAIL);
    await page.fill('#password', PASSWORD);
    await page.press('#password', 'Enter');
    await page.getByText(EMAIL).first().waitFor();

    const { mcpServers } = JSON.parse(printed(/^Cursor, in .*:\n *(\S+)$/m));
    const client = await connectV2()(mcpServers.filesystem.url, provider(), inBrowser(desk) as WebPerson);
    const read = { path: join(cwd, 'notes/todo.md') };
    expect(await client.call('read_text_file', read)).toEqual([{ type: 'text', text: NOTE }]);

    // The printed text names the console: "Agents: the tools that a client may call, and the calls that need your
    // approval."
    const console = printed(/^ *Console +(\S+)$/m);
    const screen = async (name: string): Promise<void> => {
      await page.getByRole('navigation').first().getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { level: 1 }).waitFor();
    };
    expect(printed(/^ *(Agents: .*)$/m)).toContain('the calls that need your approval');
    await visit(page, console);
    await screen('Agents');
    await page.getByRole('link', { name: 'Note taker' }).first().click();
    const entry = (number: number) => page.getByRole('group', { name: `Permission ${number}` });
    await entry(1).getByLabel('Segment 3').fill('read_text_file');
    await page.getByRole('button', { name: 'Add permission' }).click();
    await entry(2).getByLabel('Segment 1').fill('mcp:filesystem:write_file');
    await entry(2).getByLabel('Actions').fill('execute ');
    await entry(2).getByText('Conditions').click();
    await entry(2).getByLabel('Each call needs the approval of a person').check();
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save permissions' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    expect((await client.tools()).toSorted()).toEqual(['read_text_file', 'write_file']);
    const renamed = { source: read.path, destination: join(cwd, 'notes/done.md') };
    expect(await client.result('move_file', renamed)).toMatchObject({ isError: true });

    const written = join(cwd, 'notes/new.md');
    const write = { path: written, content: 'Rest' };
    const [{ text }] = (await client.call('write_file', write)) as [{ text: string }];
    expect(() => readFileSync(written)).toThrow('ENOENT');
    // The phone has no session, so the owner signs in there. The page needs no script.
    const phone = await openContext({
      viewport: PHONE,
      isMobile: true,
      hasTouch: true,
      javaScriptEnabled: false,
    });
    const approval = await phone.newPage();
    await visit(approval, /http\S+\/account\/approvals\/\w+/.exec(text)?.[0] as string);
    expect(await approval.locator('main').innerText()).toContain(written);
    await approval.getByRole('button', { name: 'Approve' }).tap();
    await approval.getByText('This call is approved').waitFor();
    expect((await client.result('write_file', write)) as object).not.toMatchObject({ isError: true });
    expect(readFileSync(written, 'utf8')).toBe('Rest');

    // The printed text goes on: "Audit: each call and its decision."
    expect(printed(/^ *(Audit: .*)$/m)).toContain('each call and its decision');
    await screen('Audit');
    const rows = async (): Promise<string[]> =>
      (await page.locator('main tbody tr').allInnerTexts()).filter((row) => row.includes('mcp:filesystem:'));
    await expect.poll(async () => (await rows()).length, { timeout: BUSY_MS }).toBe(4);
    const outcome = (tool: string) => expect.stringMatching(new RegExp(tool, 's'));
    expect(await rows()).toEqual([
      outcome('Allowed.*write_file|write_file.*Allowed'),
      outcome('Denied.*write_file|write_file.*Denied'),
      outcome('Denied.*move_file|move_file.*Denied'),
      outcome('Allowed.*read_text_file|read_text_file.*Allowed'),
    ]);
    await screen('Connections');
    await page.getByRole('link', { name: 'Gateway', exact: true }).click();
    const calls = page.getByRole('table', { name: 'Calls, newest first' });
    await calls.getByText('write_file').waitFor();
    expect(await calls.locator('tbody tr').count()).toBe(2);
    expect(complaints).toEqual([]);
    await client.close();
    await phone.close();
    await desk.close();
    expect(await service.stop()).toBe(0);
  });
});
