import { describe, expect, it } from 'vitest';
import { ScreenChecker } from '../support/accessible.ts';
import { chromiumPath } from '../support/chromium.ts';
import { addressesOf, consoleScene, routesOf, visit } from '../support/console-scene.ts';

describe.skipIf(chromiumPath === undefined)('each screen of the console in Chromium', () => {
  const scene = consoleScene();
  const { openAs, go } = scene;

  it.each(['en', 'de'])(
    'in the language %s is accessible in both colour schemes at each width, and obeys its content security policy',
    async (language) => {
      const { page, context, complaints } = await openAs('admin');
      const addresses = addressesOf(scene.of.admin, scene.common);
      const checker = new ScreenChecker(page);
      const problems: string[] = [];
      const visited = new Set<string>();
      const tabs = new Set<string>();
      await go(page, `?lang=${language}`);
      expect(await page.evaluate(() => document.documentElement.lang)).toBe(language);
      expect(Object.keys(addresses).sort()).toEqual((await routesOf(page)).sort());
      for (const path of Object.values(addresses).flat()) {
        visited.add(`/console${path}`.replace(/\?.*/, ''));
        // In one language each address is loaded; in the other the test navigates within the page, as links do.
        await (language === 'en' ? go : visit)(page, path);
        problems.push(...(await checker.check(`console${path}`, language)));
        for (const tab of await page.locator('nav a').all())
          tabs.add(((await tab.getAttribute('href')) as string).replace(/\?.*/, '').replace(/(.)\/$/, '$1'));
      }
      expect([...problems, ...complaints]).toEqual([]);
      // No tab or navigation link leads to a screen that this test does not visit.
      expect([...tabs].filter((path) => path.startsWith('/console') && !visited.has(path))).toEqual([]);
      await context.close();
    },
    // There are 500 combinations of screen, width and colour scheme, and the machine may be busy.
    600_000,
  );
});
