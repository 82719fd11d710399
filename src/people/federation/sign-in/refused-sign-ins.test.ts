import { expect, it } from 'vitest';
import { FormClient } from '../../../../test/support/browser-like.ts';
import {
  begin,
  CLIENT,
  callback,
  openPretendedProvider,
  registerProvider,
  signInWith,
} from '../../../../test/support/identity-provider.ts';
import { refusalLog } from '../../../../test/support/refusal-log.ts';
import { createTestService, type Json } from '../../../../test/support/service.ts';

it('the log states why a provider did not confirm a person, and who has no account', async () => {
  const { log, logged } = refusalLog();
  const t = await createTestService({ log, config: { federation: { allowPrivateNetworks: true } } });
  t.clock.set(new Date().toISOString());
  const provider = await openPretendedProvider();
  await registerProvider(t, await t.admin(), 'corp', provider);
  const now = Math.floor(t.clock.now() / 1000);
  const signIn = async (claims: Json, accept: string) => {
    provider.idToken = (nonce) =>
      provider.sign({ sub: 'ann', aud: CLIENT.clientId, iat: now, exp: now + 300, nonce, ...claims });
    return (await signInWith(new FormClient(t, { accept }), 'corp')).status;
  };
  for (const accept of ['text/html', 'application/json']) {
    logged.length = 0;
    expect(await signIn({ aud: 'another client' }, accept)).toBe(401);
    expect(await signIn({ nonce: 'another nonce' }, accept)).toBe(401);
    expect(await signIn({ iat: now + 3600 }, accept)).toBe(401);
    const browser = new FormClient(t, { accept });
    const page = await begin(browser, 'corp');
    expect((await browser.get(callback('corp', page, { error: 'access_denied' }))).status).toBe(401);
    expect(await signIn({}, accept)).toBe(403);
    expect(logged.filter(({ message }) => message === 'refused')).toMatchObject([
      { reason: 'identity-unconfirmed', issuer: 'corp', problem: expect.stringMatching(/: aud$/) },
      { reason: 'identity-unconfirmed', issuer: 'corp', problem: expect.stringMatching(/: nonce$/) },
      { reason: 'identity-unconfirmed', issuer: 'corp', problem: expect.stringContaining('assertion-expired') },
      { reason: 'identity-unconfirmed', issuer: 'corp', problem: expect.stringContaining('access_denied') },
      { code: 'SIGN_IN_REFUSED', reason: 'person-unknown' },
    ]);
  }
});

it('a sign-in beyond the limit of sessions is 429, and the role still follows the claims', async () => {
  const t = await createTestService({
    config: {
      federation: { allowPrivateNetworks: true },
      users: { provision: true },
      multiSession: { maxSessions: 1, overflow: 'reject' },
    },
  });
  t.clock.set(new Date().toISOString());
  const provider = await openPretendedProvider();
  const map = [{ claim: 'groups', value: 'auditors', role: 'auditor' }];
  await registerProvider(t, await t.admin(), 'corp', provider, { map });
  const now = Math.floor(t.clock.now() / 1000);
  const person = { sub: 'ann', email: 'ann@example.com', email_verified: true };
  const signIn = async (groups: string[]) => {
    provider.idToken = (nonce) =>
      provider.sign({ ...person, groups, aud: CLIENT.clientId, iat: now, exp: now + 300, nonce });
    const browser = new FormClient(t);
    return { browser, status: (await signInWith(browser, 'corp')).status };
  };
  const { browser, status } = await signIn(['auditors']);
  const session = async () => (await browser.get('/auth/session')).body.user.role;
  expect([status, await session()]).toEqual([303, 'auditor']);
  expect((await signIn([])).status).toBe(429);
  expect(await session()).toBe('user');
});
