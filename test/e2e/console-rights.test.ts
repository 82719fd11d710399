import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { matrix, statusFor } from '../http/matrix.cases.ts';
import type { Statuses } from '../http/matrix.scene.ts';
import { DECEPTIVE } from '../support/accessible.ts';
import { chromiumPath, PHONE } from '../support/chromium.ts';
import { addressesOf, consoleScene, ROLES, type Role, settled, visit, WIDE } from '../support/console-scene.ts';

/** For each role, the kind of caller in the permission matrix that it has on the screens of its own scene. */
const CALLER = { admin: 'admin', auditor: 'auditor', user: 'ownerByCookie' } as const satisfies Record<
  Role,
  keyof Statuses
>;

/** Buttons that only change the view or the input. */
const VIEW =
  /^(Copy|Open$|Close$|Cancel$|Only|Without|Next page|First page|Apply$|Whole range|Pause$|Show this period|Print$|Save as test$|Check$|What .* passes|Add permission$|Add an action|Remove (action|read|write|send|execute|permission)|Clear selection|\d+ (new|permission)|Current permissions|Load)/;

/** Requests that change nothing, which auditors may make too. */
const ASKING = /\/replay$|^\/authorize/;

/** Endpoints that people use outside the console, or that programs use. */
const ELSEWHERE: readonly (readonly [why: string, endpoints: RegExp])[] = [
  [
    'it takes a secret or gives authority, on a page without scripts',
    /^\S+ \/(account|password|totp|api-tokens|device)\b/,
  ],
  [
    'it takes a secret or gives authority, on a page without scripts',
    /^\S+ \/(passkeys|verify-email|setup|oauth\/consent)\b/,
  ],
  ["it is on the page of one's own devices, to which the console links", /^DELETE \/auth\/sessions/],
  ['it is the way in or out', /^\S+ \/(sign-|magic-link|email-otp|auth\/oidc\/)/],
  ['an OAuth client does it', /^\S+ \/api\/legate\/oauth\//],
  ['the directory of the company does it', /^\S+ \/scim\//],
  ['a program asks it', /^\S+ \/(access\/v1|events\/ticket)/],
  ['a program asks it, and the console shows what an agent could do', /^POST \/agents\/:id\/permissions\/filter/],
  ['a program reports it', /^POST \/costs/],
  ['it takes a secret, on the page of the gateway that connects', /^\S+ \/gateway\/connections\//],
  ['an MCP client does it', /^\S+ \/gateway\/:name\//],
  ['it ends at once what has a button for each', /^DELETE \/agents\/:id\/trust$/],
];

describe.skipIf(chromiumPath === undefined)('the buttons of the console', () => {
  const scene = consoleScene();

  it.each(ROLES)('send for %s exactly the requests that the permission matrix allows', async (role) => {
    const { page, context, complaints } = await scene.openAs(role);
    /** The first button for each endpoint, including buttons that sent anything else. */
    const sent = new Map<string, string>();
    const alive = new Set<string>();
    const refused: string[] = [];
    let here = '';
    await page.route('**/*', async (route) => {
      const request = route.request();
      const url = new URL(request.url());
      if (request.method() === 'GET') return route.continue();
      alive.add(here);
      if (ASKING.test(url.pathname)) {
        const response = await route.fetch();
        if (!response.ok()) refused.push(`${here}: ${response.status()}`);
        return route.fulfill({ response });
      }
      const endpoint = endpointOf(`${request.method()} ${url.pathname}`);
      if (!sent.has(endpoint)) sent.set(endpoint, here);
      if (url.searchParams.has('preview')) return route.continue();
      // The request does not reach the service, so that the next button finds the same scene.
      return route.fulfill({ status: 400, json: { error: { code: 'VALIDATION_FAILED', message: 'held' } } });
    });
    const dead: string[] = [];
    const badDialogs: string[] = [];
    await scene.go(page, '');
    for (const path of addresses(role)) {
      await visit(page, path);
      expect(await page.locator('.notice.error').allInnerTexts(), path).toEqual([]);
      const select = page.locator('main td input[type=checkbox]').first();
      if (path === '/agents' && (await select.count()) > 0) await select.check();
      for (const name of await newNamesOf(page)) {
        if (VIEW.test(name)) continue;
        here = `${path}: ${name}`;
        const button = page.locator('main').getByRole('button', { name, exact: true }).first();
        const look = async (): Promise<void> => {
          for (const problem of await problemsOfDialog(page)) badDialogs.push(`${here}: ${problem}`);
        };
        if (!(await press(page, button, () => alive.has(here), look))) dead.push(here);
      }
    }
    // Every reason must match an existing endpoint.
    expect(
      ELSEWHERE.filter(([, endpoints]) => !Object.keys(matrix).some((endpoint) => endpoints.test(endpoint))),
    ).toEqual([]);
    const allowed = (endpoint: string): boolean => {
      const status = statusFor(
        endpoint.split(' ')[0] as string,
        (matrix[endpoint] as (typeof matrix)[string]).want,
        CALLER[role],
      );
      // The gateway servers of the matrix do not exist. Only callers who may see all servers get 404 for them.
      return ![401, 403, ...(role === 'user' ? [404] : [])].includes(status);
    };
    const missing = Object.keys(matrix).filter(
      (endpoint) =>
        !endpoint.startsWith('GET ') &&
        allowed(endpoint) &&
        !sent.has(endpoint) &&
        !ASKING.test(endpoint.split(' ')[1] as string) &&
        !ELSEWHERE.some(([, endpoints]) => endpoints.test(endpoint)),
    );
    expect({
      refused: [...refused, ...[...sent].filter(([endpoint]) => !allowed(endpoint))],
      missing,
      dead,
      badDialogs,
      complaints,
    }).toEqual({ refused: [], missing: [], dead: [], badDialogs: [], complaints: [] });
    await context.close();
  });

  /** An auditor sees everything; a user sees only their own objects, and no areas for administrators. */
  const addresses = (role: Role): string[] =>
    Object.entries(addressesOf(scene.of[role], scene.common))
      .flatMap(([route, paths]) => paths.map((path) => [route, path] as const))
      // A person cannot erase or suspend their own account.
      .concat([['/people/users/$id', `/people/users/${scene.of.user.user}`]])
      .filter(
        ([route, path]) =>
          // Without a question, the button to ask is disabled.
          path !== '/playground' &&
          (role !== 'user' ||
            !/^\/(people|system)|servers|clients|gateway/.test(route === '/connections/$tab' ? path : route)),
      )
      .map(([, path]) => path);
});

/**
 * Returns the names of the enabled and disabled buttons of a screen, but not of those that were already on an earlier
 * one: the tabs of an object are below the same buttons, which stay when the tab changes.
 */
const newNamesOf = (page: Page): Promise<string[]> =>
  page.locator('main button:visible').evaluateAll((buttons) => {
    const place = window as { seenButtons?: WeakSet<Element> };
    place.seenButtons ??= new WeakSet();
    const first = new Map<string, Element>();
    for (const b of buttons) {
      const name = (b.getAttribute('aria-label') ?? b.textContent ?? '').replaceAll(/\s+/g, ' ').trim();
      if (!first.has(name)) first.set(name, b);
    }
    const names: string[] = [];
    for (const [name, button] of first) {
      if (!place.seenButtons.has(button)) names.push(name);
      place.seenButtons.add(button);
    }
    return names;
  });

/**
 * All names are hostile. Each dialog shows them as text, isolated and complete, in the width of a phone too. The window
 * keeps the second width, in which the next look begins: a new width costs more than all else that a button does.
 */
const problemsOfDialog = async (page: Page): Promise<string[]> => {
  const problems: string[] = [];
  const widths = [WIDE.width, PHONE.width];
  if (page.viewportSize()?.width === PHONE.width) widths.reverse();
  for (const width of widths) {
    await toWidth(page, width);
    problems.push(
      ...(await page.locator('dialog').evaluateAll((dialogs, pattern) => {
        const deceptive = new RegExp(pattern);
        return dialogs.flatMap((dialog) => {
          const texts = [dialog, ...dialog.querySelectorAll('[title], [aria-label], option, input')].flatMap((e) => [
            e.getAttribute('title') ?? '',
            e.getAttribute('aria-label') ?? '',
            e.textContent ?? '',
          ]);
          return [
            ...texts.filter((text) => deceptive.test(text)).map((text) => `deceptive: ${text.slice(0, 200)}`),
            ...(dialog.querySelector('img') ? ['an image, made of text'] : []),
            ...(dialog.scrollWidth > dialog.clientWidth
              ? [`${dialog.scrollWidth - dialog.clientWidth} px too wide`]
              : []),
          ];
        });
      }, DECEPTIVE)),
    );
  }
  return problems;
};

const toWidth = async (page: Page, width: number): Promise<void> => {
  if (page.viewportSize()?.width !== width) await page.setViewportSize({ width, height: WIDE.height });
};

/** Presses a button, then the confirming button of the dialog that it opens. Returns whether a request was sent. */
async function press(page: Page, button: Locator, sent: () => boolean, look: () => Promise<void>): Promise<boolean> {
  // An approval can be decided when its text has been in view. A click only waits until the button is enabled.
  await button.evaluate((element) => element.scrollIntoView({ block: 'center' }));
  await button.click();
  const dialog = page.getByRole('dialog');
  const confirm = dialog.locator('.actions .primary, .actions .danger').last();
  try {
    await expect.poll(async () => sent() || (await dialog.count()) > 0, { timeout: 5000 }).toBe(true);
    if ((await dialog.count()) === 0) return true;
    // A dialog with consequences may require typing a name.
    await expect.poll(() => dialog.locator('.skeleton').count(), { timeout: 20_000 }).toBe(0);
    await look();
    const fields = dialog.locator('input:visible');
    for (const [index, value] of (await fields.evaluateAll(inputsOf)).entries())
      if (value !== undefined) await fields.nth(index).fill(value);
    await confirm.click({ timeout: 20_000 });
    await expect.poll(sent, { timeout: 5000 }).toBe(true);
    await look();
    return true;
  } catch {
    return false;
  } finally {
    if ((await dialog.count()) > 0) await dialog.getByRole('button', { name: 'Cancel' }).click();
    await toWidth(page, WIDE.width);
    await settled(page);
  }
}

/** Runs in the page. Returns for each field what to enter in it, or undefined. */
const inputsOf = (fields: Element[]): (string | undefined)[] =>
  (fields as HTMLInputElement[]).map(({ type, pattern, labels, required, value, disabled, readOnly }) => {
    if (disabled || readOnly || value !== '' || type === 'checkbox' || type === 'radio') return undefined;
    const typed = /Type (.*) to confirm/.exec(labels?.[0]?.textContent ?? '')?.[1];
    if (!required && typed === undefined) return undefined;
    return typed ?? (type === 'number' ? '1' : type === 'url' ? 'https://x.example' : pattern ? 'x' : 'x@x.example');
  });

const PATTERNS = Object.keys(matrix).map(
  (endpoint) => [endpoint, new RegExp(`^${endpoint.replaceAll(/:\w+/g, '[^/]+')}$`)] as const,
);
/** Returns the endpoint of the matrix that matches a request, preferring the one with the fewest parameters. */
function endpointOf(request: string): string {
  const fitting = PATTERNS.filter(([, pattern]) => pattern.test(request)).map(([endpoint]) => endpoint);
  return fitting.sort((a, b) => a.split(':').length - b.split(':').length)[0] ?? request;
}
