// Takes the pictures of the documentation from `legate demo`, with Chromium. Needs a build (npm run build).
// usage: node scripts/screenshots.mjs [--all FOLDER]: with --all, each screen in both themes, wide and at 320 px.
import { spawn } from 'node:child_process';
import { accessSync, mkdirSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const root = resolve(import.meta.dirname, '..');
const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 320, height: 640 };

const executablePath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
  .find((path) => {
    try {
      accessSync(path);
      return true;
    } catch {
      return false;
    }
  });
if (executablePath === undefined) throw new Error('Chromium is not on the PATH.');

const demo = spawn(process.execPath, [join(root, 'dist/cli.js'), 'demo'], { stdio: ['ignore', 'pipe', 'inherit'] });
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
try {
  let signIn = '';
  for await (const line of createInterface({ input: demo.stdout })) {
    signIn = /https?:\/\/\S+/.exec(line)?.[0] ?? '';
    if (signIn !== '') break;
  }
  demo.stdout.resume();
  const context = await browser.newContext({ viewport: WIDE, locale: 'en-US', timezoneId: 'UTC' });
  const page = await context.newPage();
  await page.goto(signIn);
  if (!new URL(page.url()).pathname.includes('/console')) await page.locator('main button[type=submit]').click();
  await page.waitForURL('**/console*');
  const base = new URL(page.url()).origin;
  const api = async (path) => (await page.request.get(base + path)).json();

  const open = async (path) => {
    await page.goto(`${base}${path}`);
    await page.waitForSelector('h1');
    await page.waitForFunction(() => document.querySelectorAll('.skeleton').length === 0);
    await page.evaluate(() => document.fonts.ready);
    await page.getByText('Live', { exact: true }).first().waitFor({ state: 'attached' });
    // Names are loaded after the ids that they replace.
    await page.waitForFunction(() =>
      [...document.querySelectorAll('main .verdict, main .path a, main .card p')].every(
        ({ textContent }) => !/\b(agt|usr)_/.test(textContent),
      ),
    );
  };
  const [denied] = await api('/audit?result=denied&order=desc&limit=1');
  const agents = await api('/agents?view=summary&sort=-calls&limit=1');

  const all = process.argv[2] === '--all' ? process.argv[3] : undefined;
  if (all === undefined) {
    const folder = join(root, 'docs/pictures');
    mkdirSync(folder, { recursive: true });
    // Some decisions from the demo's script, so that the overview shows activity.
    await page.waitForTimeout(20_000);
    for (const [name, path] of [
      ['overview', '/console'],
      ['decision', `/console/audit/${denied.id}`],
      ['approvals', '/console/approvals'],
      ['agent', `/console/agents/${agents[0].id}`],
      ['audit', '/console/audit'],
      ['delegations', '/console/agents/graph'],
    ]) {
      await open(path);
      await page.screenshot({ path: join(folder, `${name}.png`) });
    }
  } else {
    mkdirSync(all, { recursive: true });
    const [webhook] = await api('/webhooks');
    const [anomaly] = await api('/anomalies');
    for (const [name, path] of Object.entries({
      overview: '',
      approvals: '/approvals',
      agents: '/agents',
      graph: '/agents/graph',
      agent: `/agents/${agents[0].id}`,
      'agent-delegations': `/agents/${agents[0].id}/delegations`,
      'agent-activity': `/agents/${agents[0].id}/activity`,
      'agent-history': `/agents/${agents[0].id}/history`,
      audit: '/audit',
      entry: `/audit/${denied.id}`,
      changes: '/changes',
      playground: '/playground',
      anomalies: '/signals/anomalies',
      anomaly: `/signals/anomalies/${anomaly?.id}`,
      costs: '/signals/costs',
      servers: '/connections/servers',
      clients: '/connections/clients',
      grants: '/connections/grants',
      webhooks: '/connections/webhooks',
      webhook: `/connections/webhooks/${webhook?.id}`,
      users: '/people/users',
      invitations: '/people/invitations',
      tenants: '/people/tenants',
      system: '/system',
    })) {
      await page.setViewportSize(WIDE);
      await open(`/console${path}`);
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(all, `${name}-${colorScheme}.png`) });
      }
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize(PHONE);
      await page.screenshot({ path: join(all, `${name}-phone.png`) });
    }
  }
} finally {
  await browser.close();
  demo.kill('SIGINT');
}
