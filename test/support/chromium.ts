import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { afterThisFile } from './at-end.ts';

const BROWSERS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/**
 * Chromium or a similar browser on the PATH. undefined if there is none; its tests are then reported as not run. The
 * headless shell is Chromium without its windows, and takes two thirds of the processor time.
 */
export const chromiumPath: string | undefined = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((dir) => BROWSERS.map((name) => join(dir, name)))
  .find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

export const openChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath as string,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });

let shared: Promise<Browser> | undefined;

/**
 * Opens a context in the browser of this worker. Test files share the browser, because starting one takes longer than
 * many of them use it. The context is closed after the last test of the file.
 */
export async function openContext(options: BrowserContextOptions): Promise<BrowserContext> {
  if (!(await shared)?.isConnected()) shared = openChromium();
  const context = await ((await shared) as Browser).newContext(options);
  context.setDefaultTimeout(BUSY_MS);
  afterThisFile(() => context.close());
  return context;
}

/** The time limit of one step on a page. It is long, because the machine may be busy. */
export const BUSY_MS = 100_000;

/** Window size of a phone. */
export const PHONE = { width: 320, height: 640 } as const;

/** Collects the errors that the browser reports about a page, such as violations of its policy. */
export function complaintsOf(context: BrowserContext): string[] {
  const complaints: string[] = [];
  context.on('console', (message) => {
    // The console also reports the status of a refused form.
    if (message.type() === 'error' && !/the server responded with a status of (4\d\d|503)/.test(message.text()))
      complaints.push(message.text());
  });
  return complaints;
}

export const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const TAGS = [...WCAG, 'best-practice'];
export const ALL_RULES = { type: 'tag', values: TAGS } as const;
/** What axe checks: rules, or all rules with one of these tags but those in `without`. */
export interface Rules {
  readonly type: 'tag' | 'rule';
  readonly values: readonly string[];
  readonly without?: readonly string[];
}
/** All other rules have the same result in both colour schemes. */
export const RULES_OF_COLOURS = ['color-contrast', 'link-in-text-block'];

/**
 * AxeBuilder would send this half megabyte to the page four times for each check, which takes longer than the check
 * itself.
 */
const AXE = readFileSync(
  createRequire(createRequire(import.meta.url).resolve('@axe-core/playwright')).resolve('axe-core/axe.min.js'),
  'utf8',
);

/** The part of the colours of axe that is used here. */
type Colour = Record<'r' | 'g' | 'b' | 'alpha', number> & { parseString(text: string): Colour };

interface AxeWindow {
  readonly axe?: {
    readonly commons: { readonly color: { readonly Color: { readonly prototype: Colour } } };
    run(
      context: object,
      options: object,
    ): Promise<{
      readonly violations: readonly { readonly id: string; readonly nodes: readonly { html: string }[] }[];
    }>;
  };
}

/**
 * Runs in the page, after axe. Keeps what axe has parsed of each colour: it parses the few colours of a page again for
 * each element, for the element's ancestors, and for all that lies below, which took a third of the time of a check.
 */
function keepColours(): void {
  const colour = (window as AxeWindow).axe?.commons.color.Color.prototype;
  if (!colour) throw new Error('axe is not on the page');
  const parse = colour.parseString;
  const kept = new Map<string, Pick<Colour, 'r' | 'g' | 'b' | 'alpha'>>();
  colour.parseString = function (this: Colour, text) {
    const known = kept.get(text);
    if (known) return Object.assign(this, known);
    parse.call(this, text);
    const { r, g, b, alpha } = this;
    kept.set(text, { r, g, b, alpha });
    return this;
  };
}

/** Returns the findings of axe on a part of a page, after its transition to the other colour scheme. */
export async function violationsOn(
  page: Page,
  { without = [], ...runOnly }: Rules,
  part?: string,
): Promise<{ id: string; html: string[] }[]> {
  if (!(await page.evaluate(() => (window as AxeWindow).axe !== undefined)))
    await page.evaluate(`${AXE};(${keepColours})()`);
  return page.evaluate(
    async ({ only, selector, disabled }) => {
      const passing = document
        .getAnimations()
        .filter((a) => a.effect?.getTiming().iterations !== Number.POSITIVE_INFINITY);
      await Promise.allSettled(passing.map((animation) => animation.finished));
      const { axe } = window as AxeWindow;
      if (!axe) throw new Error('axe is not on the page');
      const { violations } = await axe.run(selector === undefined ? document : { include: [[selector]] }, {
        runOnly: only,
        rules: Object.fromEntries(disabled.map((id) => [id, { enabled: false }])),
        resultTypes: ['violations'],
      });
      return violations.map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html) }));
    },
    { only: runOnly, selector: part, disabled: without },
  );
}

/**
 * Checks that a page is accessible: axe finds no violation of WCAG 2.2 A and AA, nothing is wider than the window, and
 * every target is at least 24 px high. Axe needs a context with scripts. With LEGATE_TEST_SCREENSHOTS, saves a
 * screenshot in that folder.
 */
export async function expectGoodPage(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const violations = await violationsOn(
      page,
      colorScheme === 'light' ? ALL_RULES : { type: 'rule', values: RULES_OF_COLOURS },
    );
    const found = violations.map(({ id, html }) => `${name}, ${colorScheme}: ${id}: ${html.join(' ')}`);
    expect(found, found.join('\n')).toEqual([]);
    const folder = process.env['LEGATE_TEST_SCREENSHOTS'];
    if (folder) {
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), fullPage: true });
    }
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide, `${name} is wider than the window`).toBe(0);
  const low = await page.evaluate(() =>
    [...document.querySelectorAll('button, input:not([type=hidden]), .button')]
      .filter((e) => e.getClientRects().length > 0 && e.getBoundingClientRect().height < 24)
      .map((e) => e.outerHTML),
  );
  expect(low, `${name} has targets that are too low`).toEqual([]);
}

/** Returns class, name or tag of the focused element. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(
    () =>
      document.activeElement?.className ||
      document.activeElement?.getAttribute('name') ||
      document.activeElement?.tagName ||
      '',
  );

/** Waits until the page has set its focus, because earlier input is lost. */
export const focusOn = (page: Page, name: string): Promise<void> => expect.poll(() => focused(page)).toBe(name);

/** Presses Tab until an element with this accessible name has focus. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press('Tab');
    const here = await page.evaluate(() => {
      const e = document.activeElement as HTMLInputElement | null;
      return e?.getAttribute('aria-label') ?? e?.labels?.[0]?.textContent ?? e?.textContent ?? '';
    });
    if (here.startsWith(name)) return;
  }
  throw new Error(`${name} is not reached with the keyboard`);
}
