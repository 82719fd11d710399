import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { ALL_RULES, RULES_OF_COLOURS, type Rules, violationsOn } from './chromium.ts';

export const WIDTHS = [1440, 768, 320] as const;
const HEIGHT = 900;

const COLOURS: Rules = { type: 'rule', values: RULES_OF_COLOURS };
/** Further rules whose result depends on the width of the window, for elements that are present at all widths. */
const LAYOUT: Rules = { type: 'rule', values: ['target-size', 'scrollable-region-focusable'] };

/**
 * Characters that must not be in texts for people: they change the direction of the following text, or are invisible.
 */
export const DECEPTIVE = /[\u202a-\u202e\u2066-\u2069\u200b]/.source;

/**
 * Checks screens with axe in both colour schemes and at each width, in a fraction of the time of as many full checks:
 *
 * - All rules but those of colours run at the first width, and at the others on the elements that appear only there.
 * - The rules of the layout run at each width.
 * - The rules of colours run in both schemes on each element with a new combination of colours, background and fonts.
 *   Two elements that agree in all of these have the same contrast.
 *
 * Each check also finds elements wider than the window, targets that are too small, more or fewer than one h1, and text
 * with deceptive characters.
 */
export class ScreenChecker {
  readonly #page: Page;
  /** Elements outside of `main` are the same on all screens. */
  readonly #framed = new Map<string, Set<string>>();
  readonly #colours = new Set<string>();

  constructor(page: Page) {
    this.#page = page;
  }

  /** Checks the screen that is shown. `language` and `name` are those of the screen. */
  async check(name: string, language: string): Promise<string[]> {
    const page = this.#page;
    const problems: string[] = [];
    const framed = this.#framed.get(language) ?? new Set();
    this.#framed.set(language, framed);
    const seen = new Set(framed);
    const schemes: ('light' | 'dark')[] = ['light', 'dark'];
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT });
      for (const scheme of schemes) {
        await page.emulateMedia({ colorScheme: scheme });
        const found = await this.#look({ framed, scheme, seen, first: width === WIDTHS[0] });
        problems.push(...found.map((text) => `${name}, ${language}, ${width} px, ${scheme}: ${text}`));
        const folder = process.env['LEGATE_TEST_SCREENSHOTS'];
        if (folder) {
          mkdirSync(folder, { recursive: true });
          const plain = name.replaceAll(/_\w+|%\w\w/g, '').replaceAll(/\W+/g, '-');
          const file = `${plain}-${language}-${width}-${scheme}.png`;
          await page.screenshot({ path: join(folder, file), fullPage: true });
        }
      }
      // The next width begins with the scheme in which the page is, because each change renders the page anew.
      schemes.reverse();
    }
    return problems;
  }

  async #look({
    framed,
    scheme,
    seen,
    first,
  }: {
    framed: Set<string>;
    scheme: string;
    seen: Set<string>;
    first: boolean;
  }): Promise<string[]> {
    for (;;) {
      const page = this.#page;
      const found = await page.evaluate(markNew, {
        scheme,
        // Playwright packs each number of an array in an object of its own.
        seen: [...seen].join(' '),
        colours: [...this.#colours].join(' '),
        first,
        deceptive: DECEPTIVE,
      });
      const checks: [rules: Rules, part?: string][] = [];
      if (scheme === 'light') checks.push([first ? { ...ALL_RULES, without: RULES_OF_COLOURS } : LAYOUT]);
      if (found.appeared !== '' && !first)
        checks.push([{ ...ALL_RULES, without: RULES_OF_COLOURS }, '[data-appeared]']);
      if (found.colours !== '') checks.push([COLOURS, '[data-colours]']);
      const problems = [...found.problems];
      try {
        for (const [rules, part] of checks)
          for (const { id, html } of await violationsOn(page, rules, part)) problems.push(`${id}: ${html.join(' ')}`);
      } catch (error) {
        // A response that arrived in the meantime has replaced the marked element.
        if (String(error).includes('No elements found')) continue;
        throw error;
      }
      for (const key of keysOf(found.appeared)) seen.add(key);
      for (const key of keysOf(found.framed)) framed.add(key);
      for (const key of keysOf(found.colours)) this.#colours.add(key);
      return problems;
    }
  }
}

const keysOf = (text: string): string[] => text.split(' ').filter((key) => key !== '');

/**
 * Runs in the page. Marks the elements that axe has to check, and returns their keys: hashes of their position and of
 * their appearance. The texts themselves are long, and sending them took longer than what axe does with them.
 */
async function markNew(given: {
  scheme: string;
  seen: string;
  colours: string;
  first: boolean;
  deceptive: string;
}): Promise<{ appeared: string; framed: string; colours: string; problems: string[] }> {
  const [seen, known] = [given.seen, given.colours].map((keys) => new Set(keys.split(' ').map(Number))) as [
    Set<number>,
    Set<number>,
  ];
  const appeared: number[] = [];
  const framed: number[] = [];
  const colours: number[] = [];
  const problems: string[] = [];
  const deceptive = new RegExp(given.deceptive);
  /** Returns 52 bits, so that no two of some thousand texts have the same. */
  const hash = (text: string): number => {
    let [high, low] = [0x811c9dc5, 0xdeadbeef];
    for (let i = 0; i < text.length; i++) {
      high = Math.imul(high ^ text.charCodeAt(i), 0x01000193);
      low = Math.imul(low ^ text.charCodeAt(i), 0x9e3779b1);
      low ^= low >>> 15;
    }
    return (high >>> 6) * 2 ** 26 + (low >>> 6);
  };
  const grounds = new Map<Element, string>();
  const groundOf = (element: Element | null): string => {
    if (!element) return '';
    let text = grounds.get(element);
    if (text === undefined) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
      const own = `${backgroundColor} ${backgroundImage} ${opacity}`;
      // Elements that do not change the background are left out, so that the depth of an element does not matter.
      const plain = own === 'rgba(0, 0, 0, 0) none 1';
      text = plain ? groundOf(element.parentElement) : `${groundOf(element.parentElement)}/${own}`;
      grounds.set(element, text);
    }
    return text;
  };
  const places = new Map<Element, number>([[document.body, 0]]);
  for (const [parent, place] of places)
    for (const [index, child] of [...parent.children].entries())
      places.set(child, hash(`${place}>${child.tagName}${index}`));
  for (const element of document.body.querySelectorAll('*')) {
    element.removeAttribute('data-appeared');
    element.removeAttribute('data-colours');
    for (const name of ['title', 'aria-label', 'placeholder', 'alt'])
      if (deceptive.test(element.getAttribute(name) ?? '')) problems.push(`deceptive ${name} of ${element.outerHTML}`);
    if (!element.checkVisibility({ visibilityProperty: true }) || element.getClientRects().length === 0) continue;
    const key = places.get(element) as number;
    if (!seen.has(key)) {
      appeared.push(key);
      if (!element.closest('main')) framed.push(key);
      // An ancestor covers the element.
      if (!given.first && !element.parentElement?.closest('[data-appeared]')) element.setAttribute('data-appeared', '');
    }
    const ownText = [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent?.trim() !== '');
    if (!ownText && !element.matches('input, select, textarea')) continue;
    const style = getComputedStyle(element);
    const texts = [
      given.scheme,
      element.tagName,
      style.color,
      style.fontSize,
      style.fontWeight,
      style.textDecorationLine,
      style.textShadow,
      element.matches(':disabled, [aria-disabled=true]'),
      element.parentElement ? getComputedStyle(element.parentElement).color : '',
      groundOf(element),
    ];
    const look = hash(texts.join('|'));
    if (known.has(look)) continue;
    known.add(look);
    colours.push(look);
    element.setAttribute('data-colours', '');
  }
  const keys = { appeared: appeared.join(' '), framed: framed.join(' '), colours: colours.join(' ') };
  if (given.scheme !== 'light') return { ...keys, problems };
  const { documentElement: root } = document;
  if (innerWidth < 480) {
    // The bar of tabs scrolls after its size has changed.
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const { left = 0, right = 0 } = document.querySelector('.tabs [aria-current=page]')?.getBoundingClientRect() ?? {};
    if (left < 0 || right > innerWidth) problems.push('the current tab is out of view');
  }
  if (root.scrollWidth > root.clientWidth) problems.push(`${root.scrollWidth - root.clientWidth} px too wide`);
  for (const e of document.querySelectorAll('button, input:not([type=hidden]), .button'))
    if (e.getClientRects().length > 0 && e.getBoundingClientRect().height < 24)
      problems.push(`a target that is too low: ${e.outerHTML}`);
  const headings = document.querySelectorAll('h1').length;
  if (headings !== 1) problems.push(`${headings} elements h1`);
  if (document.querySelector('img')) problems.push('an image, made of text');
  if (deceptive.test(document.body.innerText)) problems.push('deceptive text');
  if (deceptive.test(document.title)) problems.push('a deceptive title');
  return { ...keys, problems };
}
