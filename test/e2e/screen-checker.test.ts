import { describe, expect, it } from 'vitest';
import { ScreenChecker } from '../support/accessible.ts';
import { chromiumPath, openContext } from '../support/chromium.ts';

const screenWith = (css: string, main = ''): string => `<!doctype html>
  <html lang="en">
    <head>
      <title>Agents</title>
      <style>
        body { background: #fff; color: #111 }
        @media (prefers-color-scheme: dark) { body { background: #111; color: #eee } }
        ${css}
      </style>
    </head>
    <body><main><h1>Agents</h1><p>Two agents are active.</p>${main}</main></body>
  </html>`;

describe.skipIf(chromiumPath === undefined)('the checker of screens', () => {
  it.each<[string, string, string, RegExp[]]>([
    ['nothing on a good screen', '', '', []],
    ['a heading without contrast', 'h1 { color: #ddd }', '', [/1440 px, light: color-contrast: <h1/]],
    [
      'a text without contrast in the dark',
      '@media (prefers-color-scheme: dark) { p { color: #333 } }',
      '',
      [/1440 px, dark: color-contrast: <p/],
    ],
    [
      'a text without contrast that only a narrow window shows',
      '.narrow { color: #ccc } @media (min-width: 600px) { .narrow { display: none } }',
      '<p class="narrow">Menu</p>',
      [/320 px, light: color-contrast: <p class="narrow"/],
    ],
    [
      'links that are small and close together in a narrow window',
      '@media (min-width: 600px) { nav a { display: inline-block; padding: 8px } }',
      '<nav><a href="#a">a</a> <a href="#b">b</a></nav>',
      [/320 px, light: target-size: <a/],
    ],
    ['a field without a name', '', '<input style="height: 24px">', [/1440 px, light: label: <input/]],
  ])('finds %s, after a screen without faults', async (_what, css, main, faults) => {
    const context = await openContext({});
    const page = await context.newPage();
    const checker = new ScreenChecker(page);
    await page.setContent(screenWith(''));
    expect(await checker.check('good', 'en')).toEqual([]);
    await page.setContent(screenWith(css, main));
    const found = await checker.check('faulty', 'en');
    for (const fault of faults) expect(found).toContainEqual(expect.stringMatching(fault));
    if (faults.length === 0) expect(found).toEqual([]);
    await context.close();
  });
});
