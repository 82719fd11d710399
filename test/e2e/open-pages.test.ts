import { describe, expect, it } from 'vitest';
import { chromiumPath, RULES_OF_COLOURS, violationsOn, WCAG } from '../support/chromium.ts';
import { pagesService } from '../support/pages-service.ts';

const password = 'correct horse battery';

describe.skipIf(chromiumPath === undefined)('pages that need no account, in Chromium', () => {
  const service = pagesService();
  const { open } = service;

  it('the API documentation is accessible at both widths in both schemes, and loads from this host only', async () => {
    // Swagger UI renders only visible operations.
    const sizes = [1280, 320].map((width) => ({ width, height: 3500 }));
    const viewport = sizes[0] ?? null;
    const { page, context, complaints } = await open({ javaScriptEnabled: true, viewport, colorScheme: 'dark' });
    const hosts = new Set<string>();
    page.on('request', (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol !== 'data:') hosts.add(host);
    });
    await page.goto(`${service.url}/docs`);
    await page.waitForSelector('.opblock-delete');
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    expect(await background()).toBe('rgb(28, 32, 34)');
    const check = async (part: string): Promise<void> => {
      for (const size of sizes) {
        await page.setViewportSize(size);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          // Swagger UI animates some colours from one scheme to the other.
          await page.waitForFunction(() => document.getAnimations().length === 0);
          const rules = colorScheme === 'light' ? (['tag', WCAG] as const) : (['rule', RULES_OF_COLOURS] as const);
          const found = await violationsOn(page, { type: rules[0], values: rules[1] }, part);
          expect(found, `${size.width} px, ${colorScheme}`).toEqual([]);
        }
      }
    };
    await check('body');
    for (const method of ['post', 'get']) {
      const operation = page.locator(`.opblock-${method}`).first();
      await operation.locator('.opblock-summary-control').evaluate((button: HTMLElement) => button.click());
      await operation.locator('.responses-inner').waitFor();
    }
    await check('.opblock.is-open');
    expect([...hosts]).toEqual([new URL(service.url).host]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('no other site can frame a page or send its forms', async () => {
    const { page, context } = await open();
    const evil = `http://127.0.0.1:${service.port}`;
    await page.route(`${evil}/**`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body:
          `<iframe src="${service.url}/account/sign-in"></iframe><form method="post" ` +
          `action="${service.url}/account/sign-in"><input name="email" value="a@b.example"><input name="password" ` +
          `value="${password}"><button>go</button></form>`,
      }),
    );
    await page.goto(`${evil}/`);
    // Chromium shows its own error instead of a page that must not be framed.
    expect(page.frames()[1]?.url()).toMatch(/^chrome-error:/);
    await page.click('button');
    await page.waitForURL('**/account/sign-in');
    expect(await page.textContent('main')).toContain('another site');
    await context.close();
  });
});
