import type { CDPSession, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { chromiumPath, expectGoodPage, PHONE } from '../support/chromium.ts';
import { pagesService } from '../support/pages-service.ts';

const password = 'correct horse battery';
const NARROW = { ...PHONE, width: 360 } as const;

/** Adds a virtual authenticator of the browser, which confirms everything without asking. */
async function addAuthenticator(page: Page): Promise<{ cdp: CDPSession; authenticatorId: string }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, authenticatorId };
}

describe.skipIf(chromiumPath === undefined)('passkeys in Chromium', () => {
  const service = pagesService();
  const { open } = service;

  it('a person adds one, signs in with it, and removes it, under the policy of the pages', async () => {
    const email = 'person@example.com';
    await service.legate.users.create({ email, password });
    const { page, context, complaints } = await open({ javaScriptEnabled: true, viewport: NARROW });
    const { cdp, authenticatorId } = await addAuthenticator(page);
    await page.goto(`${service.url}/account/sign-in?returnTo=%2Faccount%2Fpasskeys`);
    await page.fill('#email', email);
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    await page.waitForURL('**/account/passkeys');

    await page.fill('#name', 'Laptop');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.waitForURL('**/account/passkeys?done=added');
    expect(await page.locator('.card h2').innerText()).toBe('Laptop');
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
    expect(credentials).toMatchObject([{ isResidentCredential: true, rpId: 'localhost' }]);
    // The authenticator already has a passkey for this account.
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('This passkey is already registered.').waitFor();
    await page.goto(`${service.url}/account/passkeys?lang=de`);
    await page.locator('[data-passkey]').waitFor();
    await expectGoodPage(page, 'passkeys');
    await page.goto(`${service.url}/account/passkeys?lang=en`);

    await page.locator('header button').click();
    await page.waitForURL('**/account/sign-in?done=signed-out');
    await page.goto(`${service.url}/account/sign-in?returnTo=%2Faccount%2Fpasskeys`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    await expectGoodPage(page, 'passkey-sign-in');
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('there is no passkey here').waitFor();
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL('**/account/passkeys');

    await page.getByRole('button', { name: 'Remove Laptop' }).click();
    await page.waitForURL('**/account/passkeys?done=removed');
    expect(await page.evaluate(ownPage)).toEqual([201, 200, 204]);
    await page.locator('header button').click();
    await page.waitForURL('**/account/sign-in?done=signed-out');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('This passkey is not accepted here.').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});

/**
 * Adds, uses and removes a passkey as docs/guides/passkeys.md does, with the JSON methods of the browser. Runs in the
 * page.
 */
async function ownPage(): Promise<number[]> {
  const send = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) });
  const options = async (path: string) => (await send('POST', path)).json();
  const creation = PublicKeyCredential.parseCreationOptionsFromJSON(await options('/passkeys/register/options'));
  const created = (await navigator.credentials.create({ publicKey: creation })) as PublicKeyCredential;
  const added = await send('POST', '/passkeys/register/verify', { ...created.toJSON(), name: 'Laptop' });
  const request = PublicKeyCredential.parseRequestOptionsFromJSON(await options('/passkeys/sign-in/options'));
  const got = (await navigator.credentials.get({ publicKey: request })) as PublicKeyCredential;
  const signedIn = await send('POST', '/passkeys/sign-in/verify', got.toJSON());
  const { id } = (await added.json()) as { id: string };
  const removed = await fetch(`/passkeys/${id}`, { method: 'DELETE' });
  return [added.status, signedIn.status, removed.status];
}
