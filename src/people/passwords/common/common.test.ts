import { describe, expect, it } from 'vitest';
import { createTestService } from '../../../../test/support/service.ts';
import { isCommonPassword } from './is-common.ts';
import { isMadeOf, wordsOfEmail } from './own-words.ts';

const GOOD = 'correct horse battery';
const ada = { email: 'ada.lovelace@example.com', password: GOOD };

describe('common passwords', () => {
  it('are recognised in any case and Unicode form', async () => {
    for (const password of ['password', 'PassWord', '12345678', 'qwertyuiop', 'iloveyou', 'ｐａｓｓｗｏｒｄ'])
      expect([password, await isCommonPassword(password)]).toEqual([password, true]);
    for (const password of [GOOD, 'passwor', '', ' password', 'toString', '__proto__'])
      expect([password, await isCommonPassword(password)]).toEqual([password, false]);
  });

  it('422 PASSWORD_TOO_COMMON at sign-up, a change and from legate.users.create, with breach.enabled off', async () => {
    const t = await createTestService();
    const refused = await t.call('POST', '/sign-up', { body: { ...ada, password: 'Sunshine1' } });
    expect([refused.status, refused.body.error.code]).toEqual([422, 'PASSWORD_TOO_COMMON']);
    const { token } = (await t.call('POST', '/sign-up', { body: ada })).body;
    const change = { currentPassword: GOOD, newPassword: '1qaz2wsx' };
    const changed = await t.call('POST', '/password/change', { as: token, body: change });
    expect([changed.status, changed.body.error.code]).toEqual([422, 'PASSWORD_TOO_COMMON']);
    expect((await t.call('POST', '/sign-in', { body: ada })).status).toBe(200);
    await expect(t.legate.users.create({ email: 'a@example.com', password: 'trustno1' })).rejects.toMatchObject({
      code: 'PASSWORD_TOO_COMMON',
    });
  });

  it('prevent the start if the configured administrator has one', async () => {
    const config = { admin: { email: 'root@example.com', password: '12345678' } };
    await expect(createTestService({ config })).rejects.toThrow(/admin\.password.*most common/s);
  });
});

describe('passwords derived from account data', () => {
  it('consist mostly of words of the account', () => {
    const words = ['acme', ...wordsOfEmail('ada.lovelace@example.com')];
    for (const password of [
      'lovelace',
      'Lovelace1852',
      'acme2030!',
      'ada-lovelace',
      'adaacmeada',
      'ADA.lovelace@example.com',
    ])
      expect([password, isMadeOf(password, words)]).toEqual([password, true]);
    for (const password of ['acme rides a horse', 'adamant eve', 'ada 8391047523984', '8391047523', 'lovelaces'])
      expect([password, isMadeOf(password, words)]).toEqual([password, false]);
    expect(isMadeOf('ab-12345', wordsOfEmail('ab@example.com'))).toBe(false);
  });

  it('422 PASSWORD_TOO_PERSONAL for the address and for the name of the service', async () => {
    const t = await createTestService();
    for (const password of ['lovelace', 'ada.lovelace', 'legate2030', ada.email]) {
      const r = await t.call('POST', '/sign-up', { body: { ...ada, password } });
      expect([password, r.status, r.body.error.code]).toEqual([password, 422, 'PASSWORD_TOO_PERSONAL']);
    }
    const page = await t.call('POST', '/account/sign-up', {
      raw: new URLSearchParams({ email: ada.email, password: 'lovelace1815' }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect([page.status, page.text]).toEqual([422, expect.stringContaining('too similar to the name of the service')]);
  });
});
