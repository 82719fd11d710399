import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { pagesService } from '../support/pages-service.ts';

describe.skipIf(chromiumPath === undefined)('the console follows events', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' } });
  let token = '';
  let agentId = '';

  // biome-ignore lint/suspicious/noExplicitAny: answers of the API.
  const send = async (path: string, body: object): Promise<any> => {
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
    expect(response.status, path).toBeLessThan(300);
    return response.json();
  };
  const decide = (n: number): Promise<unknown> => send('/authorize', { agentId, action: 'read', resource: `db:${n}` });

  beforeAll(async () => {
    const account = { email: 'admin@example.com', password: 'correct horse battery' };
    const { id } = await service.legate.users.create({ ...account, role: 'admin' });
    ({ token } = await send('/sign-in', account));
    ({ id: agentId } = await send('/agents', { ownerId: id, name: 'live', type: 'service' }));
  });

  const isStream = (url: string): boolean => new URL(url).pathname.includes('/events/');
  async function open(): Promise<{ context: BrowserContext; tab: () => Promise<Page>; streams: Page[] }> {
    const { context } = await service.open({ javaScriptEnabled: true, viewport: { width: 1440, height: 900 } });
    await context.addCookies([{ name: 'legate_session', value: token, domain: 'localhost', path: '/' }]);
    // Breaks the connection of the stream as a network failure would.
    await context.addInitScript(() => {
      const send = window.fetch;
      window.fetch = (input, init) => {
        if (!String(input instanceof Request ? input.url : input).includes('/events/')) return send(input, init);
        const cut = new AbortController();
        Object.assign(window, { cut: () => cut.abort(new TypeError('network error')) });
        return send(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, cut.signal]) : cut.signal });
      };
    });
    const streams: Page[] = [];
    const tab = async (): Promise<Page> => {
      const page = await context.newPage();
      page.on('request', (request) => isStream(request.url()) && streams.push(page));
      await page.goto(`${service.url}/console/audit`);
      await page.locator('.pill.live').waitFor();
      return page;
    };
    return { context, tab, streams };
  }

  it('over one connection for all tabs, which another tab takes over without losing an event', async () => {
    const { context, tab, streams } = await open();
    // There are as many tabs as HTTP/1.1 allows connections to one origin. With a stream each, the last would not load.
    const first = await tab();
    const others: Page[] = [];
    for (let n = 0; n < 5; n++) others.push(await tab());
    await decide(1);
    for (const page of [first, ...others]) await page.getByRole('button', { name: '1 new' }).waitFor();
    expect(streams).toEqual([first]);
    await first.close();
    await decide(2);
    for (const page of others) await page.getByRole('button', { name: '2 new' }).waitFor();
    expect(streams).toEqual([first, others[0]]);
    await context.close();
  });

  it('counts new decisions only if the list has all of them, and updates the chart together with it', async () => {
    const { context, tab } = await open();
    const page = await tab();
    await page.getByLabel('Filter').fill('result:allowed');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Nothing matches.').waitFor();
    await decide(1);
    const seek = page.getByRole('button', { name: 'Look for new decisions' });
    await seek.waitFor();
    expect(await page.getByRole('button', { name: / new$/ }).count()).toBe(0);
    await page.getByLabel('Filter').fill('');
    await page.getByRole('button', { name: 'Apply' }).click();
    const news = page.getByRole('button', { name: '1 new' });
    await news.waitFor();
    const chart = page.getByText('Each bar opens its period');
    const counted = async (): Promise<number> => Number.parseInt(await chart.innerText(), 10);
    const before = await counted();
    await decide(2);
    await page.getByRole('button', { name: '2 new' }).click();
    await expect.poll(counted).toBe(before + 1);
    await context.close();
  });

  it('again after a broken connection and refusals, including the events in between', async () => {
    const { context, tab, streams } = await open();
    const page = await tab();
    await decide(1);
    await page.getByRole('button', { name: '1 new' }).waitFor();
    let refused = 0;
    await page.route(
      (url) => isStream(url.href),
      (route) => (refused++ < 1 ? route.fulfill({ status: 503, body: '{}' }) : route.continue()),
    );
    await page.evaluate(() => {
      const states = ((window as never as { states: string[] }).states = []) as string[];
      const pill = document.querySelector('.pill') as HTMLElement;
      new MutationObserver(() => states.push(pill.className)).observe(pill, { attributes: true });
    });
    await page.evaluate(() => (window as never as { cut: () => void }).cut());
    await decide(2);
    await decide(3);
    await page.locator('.pill.retrying').waitFor();
    await page.locator('.pill.live').waitFor();
    await page.getByRole('button', { name: '3 new' }).waitFor();
    const states = await page.evaluate(() => (window as never as { states: string[] }).states);
    expect(states).toEqual(['pill retrying', 'pill catching', 'pill live']);
    expect([refused, streams.length]).toEqual([2, 3]);
    await context.setOffline(true);
    await page.locator('.pill.offline').waitFor();
    await context.setOffline(false);
    await page.locator('.pill.live').waitFor();
    await context.close();
  });

  it('after eight hours of sleep, including the events in between', async () => {
    const { context, tab, streams } = await open();
    await context.clock.install();
    const page = await tab();
    await decide(1);
    await page.getByRole('button', { name: '1 new' }).waitFor();
    await context.setOffline(true);
    await decide(2);
    await context.clock.fastForward('08:00:00');
    await context.setOffline(false);
    await page.getByRole('button', { name: '2 new' }).waitFor();
    await page.locator('.pill.live').waitFor();
    expect(streams.length).toBeGreaterThan(1);
    await context.close();
  });
});
