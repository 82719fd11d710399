import { importJWK, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { asId } from '../../src/kernel/ids.ts';
import { chromiumPath } from '../support/chromium.ts';
import { consoleScene } from '../support/console-scene.ts';

describe.skipIf(chromiumPath === undefined)('keys, sessions and second factors on the console', () => {
  const scene = consoleScene();

  it('a key that the browser creates for an agent is shown once, works, and can be removed', async () => {
    const { page, context, complaints } = await scene.openAs('user');
    const { user } = await scene.send('user', 'GET', '/auth/session');
    const agent = await scene.send('user', 'POST', '/agents', { ownerId: user.id, name: 'signer', type: 'service' });
    await scene.go(page, `/agents/${agent.id}/keys`);
    await page.getByText('The agent has no key.').waitFor();
    const dialog = page.getByRole('dialog');
    const make = async (): Promise<{ kid: string; d: string }> => {
      await page.getByRole('button', { name: 'Create key' }).click();
      await dialog.getByRole('button', { name: 'Create key' }).click();
      const key = JSON.parse(await dialog.locator('code').innerText());
      await dialog.getByRole('button', { name: 'I have copied it' }).click();
      await page.getByRole('row', { name: key.kid }).waitFor();
      return key;
    };
    const tokenWith = async ({ kid, ...jwk }: { kid: string }): Promise<Response> => {
      const assertion = new SignJWT({ jti: crypto.randomUUID() })
        .setProtectedHeader({ alg: 'ES256', kid })
        .setIssuer(agent.id)
        .setSubject(agent.id)
        .setAudience(scene.service.legate.platform.issuer)
        .setIssuedAt()
        .setExpirationTime('60 s');
      return fetch(`${scene.service.url}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion: await assertion.sign(await importJWK(jwk, 'ES256')),
        }),
      });
    };
    const [first, second] = [await make(), await make()];
    expect(
      (await scene.send('user', 'GET', `/agents/${agent.id}/keys`)).jwks.keys.map((key: object) =>
        Object.keys(key).sort(),
      ),
    ).toEqual(Array(2).fill(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']));
    for (const key of [first, second]) expect((await tokenWith(key)).status).toBe(200);
    await page.getByRole('row', { name: first.kid }).getByRole('button', { name: 'Remove key' }).click();
    await dialog.getByRole('button', { name: 'Remove key' }).click();
    await page.getByRole('row', { name: first.kid }).waitFor({ state: 'detached' });
    expect([(await tokenWith(first)).status, (await tokenWith(second)).status]).toEqual([401, 200]);
    await page.getByRole('button', { name: 'Remove all keys' }).click();
    await dialog.getByRole('button', { name: 'Remove all keys' }).click();
    await page.getByText('The agent has no key.').waitFor();
    expect((await tokenWith(second)).status).toBe(401);
    // Neither key remains in the page or in the browser.
    const left = () =>
      document.documentElement.outerHTML + JSON.stringify([sessionStorage, localStorage]) + location.href;
    for (const { d } of [first, second]) expect(await page.evaluate(left)).not.toContain(d);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('keys are entered as a JWK set, or fetched from an address', async () => {
    const { page, context } = await scene.openAs('user');
    const { user } = await scene.send('user', 'GET', '/auth/session');
    const agent = await scene.send('user', 'POST', '/agents', { ownerId: user.id, name: 'entered', type: 'service' });
    await scene.go(page, `/agents/${agent.id}/keys`);
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Set keys' }).click();
    const jwks = dialog.getByLabel('Public keys as a JWK set');
    await jwks.fill('{"keys": [');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Not saved. Please check: Public keys as a JWK set.').waitFor();
    await jwks.fill('{"keys": [{"kty": "EC", "d": "private"}]}');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('must be a public key without private members').waitFor();
    await dialog.getByLabel('Keys are').selectOption('address');
    await dialog.getByLabel('Address of a JWK set').fill('https://keys.example/jwks.json');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('https://keys.example/jwks.json').waitFor();

    // Somebody else sets them while the form is open.
    await page.getByRole('button', { name: 'Set keys' }).click();
    await dialog.getByLabel('Address of a JWK set').fill('https://keys.example/mine.json');
    await scene.send('user', 'PUT', `/agents/${agent.id}/keys`, { jwksUri: 'https://keys.example/theirs.json' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('https://keys.example/theirs.json').waitFor();
    await dialog.getByRole('button', { name: 'Load again' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('https://keys.example/mine.json').waitFor();
    // It would replace those of the address.
    expect(await page.getByRole('button', { name: 'Create key' }).count()).toBe(0);
    await context.close();
  });

  it('an administrator ends one session of a person, and resets the second factor after a new sign-in', async () => {
    const { page, context, complaints } = await scene.openAs('admin');
    const { users } = scene.service.legate;
    const account = { email: 'person@example.com', password: 'correct horse battery' };
    const person = await users.create({ ...account, role: 'user', name: 'person' });
    const [first, second] = [
      await scene.send('admin', 'POST', '/sign-in', account),
      await scene.send('admin', 'POST', '/sign-in', account),
    ];
    const statusOf = async ({ token }: { token: string }): Promise<number> =>
      (await fetch(`${scene.service.url}/auth/session`, { headers: { authorization: `Bearer ${token}` } })).status;
    await scene.go(page, `/people/users/${person.id}`);
    const dialog = page.getByRole('dialog');
    expect(await page.getByRole('button', { name: 'End session', exact: true }).count()).toBe(2);
    await page.getByRole('button', { name: 'End session', exact: true }).last().click();
    await dialog.getByRole('button', { name: 'End session' }).click();
    await expect.poll(() => page.getByRole('button', { name: 'End session', exact: true }).count()).toBe(1);
    expect([await statusOf(first), await statusOf(second)].sort()).toEqual([200, 401]);

    const db = scene.service.legate.platform.database.write;
    await db.updateTable('users').set({ two_factor_enabled: 1 }).where('id', '=', asId('user', person.id)).execute();
    const { user: admin } = await scene.send('admin', 'GET', '/auth/session');
    await db.updateTable('users').set({ two_factor_enabled: 1 }).where('id', '=', asId('user', admin.id)).execute();
    const old = { auth_time: Date.now() - 3_600_000 };
    await db.updateTable('sessions').set(old).where('user_id', '=', asId('user', admin.id)).execute();
    await page.getByRole('button', { name: 'Reset second factor' }).click();
    await dialog.getByLabel(/^Reason/).fill('lost the phone');
    await dialog.getByRole('button', { name: 'Reset second factor' }).click();
    await dialog.getByText('This needs a sign-in within the last 15 minutes.').waitFor();
    expect(await dialog.getByRole('link', { name: 'Sign in again' }).getAttribute('href')).toBe(
      `/account/sign-in?returnTo=${encodeURIComponent(`/console/people/users/${person.id}`)}`,
    );
    await db
      .updateTable('sessions')
      .set({ auth_time: Date.now() })
      .where('user_id', '=', asId('user', admin.id))
      .execute();
    await page.reload();
    await page.getByRole('button', { name: 'Reset second factor' }).click();
    expect(await dialog.getByLabel(/^Reason/).inputValue()).toBe('lost the phone');
    await dialog.getByRole('button', { name: 'Reset second factor' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await scene.send('admin', 'GET', `/users/${person.id}`)).twoFactorEnabled).toBe(false);
    expect(complaints.filter((text) => !text.includes('403'))).toEqual([]);
    await context.close();
  });
});
