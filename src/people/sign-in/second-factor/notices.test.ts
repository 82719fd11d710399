import { generateSync } from 'otplib';
import { expect, it } from 'vitest';
import { enableTotp, form, PASSWORD, type Person, signedUp, withMailbox } from '../../../../test/support/people.ts';

const shared = withMailbox();

const codeNow = ({ t }: Person, secret: string): string => generateSync({ secret, epoch: t.clock.now() / 1000 });
/** Waits for the mails in progress and returns the subjects of those to a person. */
const subjects = async ({ t, box, email }: Person): Promise<string[]> => {
  await t.legate.platform.mailer.idle();
  return box.mails
    .filter((mail) => mail.to.includes(email))
    .map((mail) => mail.subject.replace(/ at .+?(?= (was|were) )/, ''));
};
const OFF = 'The second factor of your account was switched off';
const RESET = 'The second factor of your account was reset';
const CODES = 'The backup codes of your account were replaced';

it('a person is mailed when the backup codes are replaced, and when the second factor is switched off', async () => {
  const p = await signedUp(await shared());
  const { t, session } = p;
  const secret = await enableTotp(p);
  const codes = form({ action: 'backup-codes', code: codeNow(p, secret) });
  const renewed = await t.call('POST', '/account/two-factor', { as: session, ...codes });
  expect(renewed.status).toBe(200);
  expect(await subjects(p)).toEqual([CODES]);

  t.clock.advance(30_000);
  const off = (code: string) => t.call('POST', '/totp/disable', { as: session, body: { password: PASSWORD, code } });
  expect((await off('000000')).status).toBe(401);
  expect((await off(codeNow(p, secret))).status).toBe(200);
  // It is off already.
  expect((await off('000000')).status).toBe(200);
  expect(await subjects(p)).toEqual([CODES, OFF]);
});

it('a person is mailed when an administrator resets their second factor, unless there was none', async () => {
  const p = await signedUp(await shared());
  await enableTotp(p);
  const admin = await p.t.admin();
  const reset = () => p.t.call('DELETE', `/users/${p.id}/second-factor`, { as: admin });
  expect((await reset()).status).toBe(204);
  expect((await reset()).status).toBe(204);
  expect(await subjects(p)).toEqual([RESET]);

  // In the language in which the person signed in last.
  const body = { email: p.email, password: PASSWORD };
  const headers = { 'accept-language': 'de-AT,de;q=0.9' };
  const { token: session } = (await p.t.call('POST', '/sign-in', { body, headers })).body;
  await enableTotp({ ...p, session });
  // Programs that state no language change nothing; fetch of Node sends *.
  for (const language of [{}, { 'accept-language': '*' }, { 'accept-language': 'fr' }])
    await p.t.call('POST', '/sign-in', { body, headers: language });
  expect((await reset()).status).toBe(204);
  expect((await subjects(p)).at(-1)).toMatch(/^Zweiter Faktor für Ihr Konto bei .* zurückgesetzt$/);
});

it('the mail is in the language of the request', async () => {
  const p = await signedUp(await shared());
  const code = codeNow(p, await enableTotp(p));
  const body = { password: PASSWORD, code };
  const headers = { 'accept-language': 'de' };
  expect((await p.t.call('POST', '/totp/disable', { as: p.session, body, headers })).status).toBe(200);
  expect(await subjects(p)).toEqual([expect.stringMatching(/^Zweiter Faktor für Ihr Konto bei .* ausgeschaltet$/)]);
});
