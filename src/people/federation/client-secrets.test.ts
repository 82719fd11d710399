import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import { begin, CLIENT, callback, openPretendedProvider } from '../../../test/support/identity-provider.ts';
import { createTestService } from '../../../test/support/service.ts';
import { federation } from './index.ts';

it('client secrets are encrypted again with a new key; a lost key is 503 until the secret is set again', async () => {
  const t = await createTestService({ config: { federation: { allowPrivateNetworks: true } } });
  const admin = await t.admin();
  const provider = await openPretendedProvider();
  const issuer = { uses: ['signIn'], ...CLIENT };
  const body = { name: 'one', issuer: provider.address, ...issuer };
  const one = (await t.call('POST', '/issuers', { as: admin, body })).body;
  const open = { name: 'open', issuer: 'https://open.example', ...issuer, clientSecret: undefined };
  await t.call('POST', '/issuers', { as: admin, body: open });
  const { platform } = t.legate;
  const [secrets, added] = [
    platform.secrets(),
    { id: 'newest_', key: randomBytes(32).toString('base64url'), createdAt: new Date().toISOString() },
  ];
  const rotate = (...pepper: (typeof added)[]) =>
    federation.upkeep?.({ ...platform, secrets: () => ({ ...secrets, pepper }) });
  const keyIds = async () => {
    const rows = await platform.database.read.selectFrom('issuers').select('client_secret').orderBy('id').execute();
    return rows.map(({ client_secret }) => client_secret?.split('.')[0]);
  };
  /** The secret that the provider receives. */
  const shown = async () => {
    const browser = new FormClient(t);
    await browser.get(callback('one', await begin(browser, 'one')));
    const [, encoded = ''] = provider.asked.pop()?.['authorization'].split(' ') ?? [];
    return decodeURIComponent(Buffer.from(encoded, 'base64').toString().split(':')[1] ?? '').replaceAll('+', ' ');
  };

  await rotate(added, ...secrets.pepper);
  expect(await keyIds()).toEqual(['newest_', undefined]);
  // This service lacks the new key.
  const lost = await t.call('GET', '/auth/oidc/one/start');
  expect([lost.status, lost.body.error.code]).toEqual([503, 'PROVIDER_UNAVAILABLE']);
  await rotate(...secrets.pepper);
  expect(await keyIds()).toEqual(['newest_', undefined]);

  await rotate(...secrets.pepper, added);
  expect(await keyIds()).toEqual([secrets.pepper[0]?.id, undefined]);
  expect(await shown()).toBe(CLIENT.clientSecret);

  await rotate(added, ...secrets.pepper);
  const change = { clientSecret: 'set again' };
  expect((await t.call('PATCH', `/issuers/${one.id}`, { as: admin, body: change })).status).toBe(200);
  expect(await shown()).toBe('set again');
});
