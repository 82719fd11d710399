import { describe, expect, it } from 'vitest';
import { codeIn } from '../../../../test/support/mailbox.ts';
import {
  enableTotp,
  eventsAbout,
  knownBrowser,
  mailedCode,
  type Person,
  signedUp,
  verified,
  withMailbox,
} from '../../../../test/support/people.ts';

const shared = withMailbox();
const person = async (): Promise<Person> => signedUp(await shared());

const INVALID_CODE = {
  error: { code: 'INVALID_CODE', message: 'The code is wrong, already used, or expired.' },
};
const useCode = (p: Person, otp: string, email = p.email) =>
  p.t.call('POST', '/email-otp/verify', { body: { email, otp } });
const wrong = (code: string): string => (code === '000000' ? '000001' : '000000');

describe('POST /email-otp', () => {
  it('200, the same with and without an account; six digits that cannot be guessed from the database', async () => {
    const p = await person();
    const code = await mailedCode(p);
    expect(code).toMatch(/^\d{6}$/);
    const unknown = await p.t.call('POST', '/email-otp', { body: { email: 'nobody@example.com' } });
    expect([unknown.status, unknown.body]).toEqual([
      200,
      { status: true, requestToken: expect.stringMatching(/^lgo_[\w-]{49}$/) },
    ]);
    expect(unknown.headers.getSetCookie()).toEqual([
      `${p.t.database.name}_email_code=${unknown.body.requestToken}; Path=/; HttpOnly; SameSite=Lax; Max-Age=300`,
    ]);
    const rows = await p.t.legate.platform.database.read
      .selectFrom('email_codes')
      .selectAll()
      .where('user_id', '=', p.id)
      .execute();
    expect(rows).toHaveLength(1);
    expect(rows[0]?.code_hash).toMatch(/^[\w-]+\.[\w-]{43}$/);
    expect(JSON.stringify(rows)).not.toContain(`"${code}"`);
  });

  it('others can neither use up nor guess the codes of a known browser', async () => {
    const p = await verified(await person());
    const browser = await knownBrowser(p);
    const ask = async (cookie = '') => {
      const before = p.box.mails.length;
      const r = await p.t.call('POST', '/email-otp', { body: { email: p.email }, headers: { cookie } });
      await p.t.legate.platform.background.idle();
      await p.t.legate.platform.mailer.idle();
      const [mail] = p.box.mails.slice(before);
      return { requestToken: r.body.requestToken as string, code: mail && codeIn(mail) };
    };
    const others = [];
    for (let i = 0; i < 7; i++) others.push((await ask()).code);
    expect(others.map((code) => code !== undefined)).toEqual([...Array(5).fill(true), false, false]);
    const own = await ask(browser);
    const { code: otp = '', requestToken } = own;
    expect(otp).toMatch(/^\d{6}$/);
    if (!others.includes(otp)) expect((await useCode(p, otp)).body).toEqual(INVALID_CODE);
    const used = await p.t.call('POST', '/email-otp/verify', { body: { email: p.email, otp, requestToken } });
    expect(used.status).toBe(200);
    const more = [];
    for (let i = 0; i < 5; i++) more.push((await ask(browser)).code !== undefined);
    expect(more).toEqual([true, true, true, true, false]);
    expect((await ask(await knownBrowser(await person()))).code).toBeUndefined();
  });

  it('400 for an invalid address, and for an unknown field', async () => {
    const p = await person();
    expect((await p.t.call('POST', '/email-otp', { body: { email: 'x' } })).status).toBe(400);
    expect(
      (await p.t.call('POST', '/email-otp', { body: { email: p.email, callbackURL: '/' } })).body.error.details
        .issues[0].path,
    ).toBe('callbackURL');
  });
});

describe('POST /email-otp/verify', () => {
  it('200: signs in once, with any spelling of the address', async () => {
    const p = await person();
    const code = await mailedCode(p);
    const r = await useCode(p, ` ${code.slice(0, 3)} ${code.slice(3)}`, p.email.toUpperCase());
    expect(r.status).toBe(200);
    expect(r.body).toEqual({
      token: expect.stringMatching(/^lgs_/),
      user: expect.objectContaining({ id: p.id, emailVerified: true }),
    });
    expect((await eventsAbout(p, 'auth.signin')).at(-1)?.data).toMatchObject({ method: 'email-otp' });
    expect((await useCode(p, code)).body).toEqual(INVALID_CODE);
  });

  it('a new code replaces that of the same browser, and using one ends all codes of the mailbox', async () => {
    const p = await person();
    const ask = (cookie?: string) =>
      p.t.call('POST', '/email-otp', { body: { email: p.email }, ...(cookie ? { headers: { cookie } } : {}) });
    const cookie = (await ask()).headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const first = codeIn(await p.box.next(p.email));
    await ask(cookie);
    const second = codeIn(await p.box.next(p.email));
    await ask();
    const stranger = codeIn(await p.box.next(p.email));
    if (first !== second && first !== stranger) expect((await useCode(p, first)).body).toEqual(INVALID_CODE);
    expect((await useCode(p, second)).status).toBe(200);
    expect((await useCode(p, stranger)).body).toEqual(INVALID_CODE);
  });

  it('401 after 5 minutes', async () => {
    const p = await person();
    const [early, late] = [await mailedCode(p), p];
    p.t.clock.advance(5 * 60_000 - 1);
    expect((await useCode(late, early)).status).toBe(200);
    const code = await mailedCode(p);
    p.t.clock.advance(5 * 60_000);
    expect((await useCode(p, code)).body).toEqual(INVALID_CODE);
  });

  it('refuses the right code after three wrong ones; the third try may still be right', async () => {
    const p = await person();
    const code = await mailedCode(p);
    for (let i = 0; i < 2; i++) expect((await useCode(p, wrong(code))).status).toBe(401);
    expect((await useCode(p, code)).status).toBe(200);
    const next = await mailedCode(p);
    for (let i = 0; i < 3; i++) expect((await useCode(p, wrong(next))).body).toEqual(INVALID_CODE);
    expect((await useCode(p, next)).body).toEqual(INVALID_CODE);
    const failed = (await eventsAbout(p, 'auth.failed')).at(-1);
    expect(failed?.data).toEqual({
      userId: p.id,
      emailHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      method: 'email-otp',
      reason: 'INVALID_CODE',
      ipAddress: '192.0.2.1',
    });
  });

  it('compares exactly three of many concurrent guesses, and one of many correct ones signs in', async () => {
    const p = await person();
    const code = await mailedCode(p);
    const guesses = Array.from({ length: 40 }, (_, i) => String(i).padStart(6, '0')).filter((guess) => guess !== code);
    const all = await Promise.all(
      [...guesses.slice(0, 20), code, ...guesses.slice(20)].map((guess) => useCode(p, guess)),
    );
    const rows = await p.t.legate.platform.database.read
      .selectFrom('email_codes')
      .select('open_tries_left')
      .where('user_id', '=', p.id)
      .execute();
    const statuses = all.map((r) => r.status);
    // Whether the right code is among the first three depends on the scheduler, but no fourth is ever compared.
    expect(rows).toEqual([{ open_tries_left: 0 }]);
    expect(statuses).toContain(401);
    expect((await useCode(p, code)).status).not.toBe(200);
    // The pause that so many wrong codes caused is over.
    p.t.clock.advance(60 * 60_000);
    const again = await mailedCode(p);
    const right = (await Promise.all(Array.from({ length: 50 }, () => useCode(p, again)))).map((r) => r.status).sort();
    // After one success, ten of the late ones count as wrong codes in a row, and the others are in the pause.
    expect(right).toEqual([200, ...Array(10).fill(401), ...Array(39).fill(429)]);
  });

  it('401, the same for an unknown address, the code of another account, and other text', async () => {
    const [p, other] = [await person(), await person()];
    const code = await mailedCode(other);
    await mailedCode(p);
    for (const [otp, email] of [
      [code, 'nobody@example.com'],
      [code, 'not an address'],
      [code, '\u0000'],
      [code, '\ud800@example.com'],
      ['', p.email],
      ['12345', p.email],
      ['１２３４５６', p.email],
      ['\u0000', p.email],
    ] as const) {
      const r = await useCode(p, otp, email);
      expect([r.status, r.body]).toEqual([401, INVALID_CODE]);
    }
    expect((await p.t.call('POST', '/email-otp/verify', { body: { email: p.email, otp: 123456 } })).status).toBe(400);
    expect((await useCode(other, code)).status).toBe(200);
  });

  it('is only the first step of a sign-in with a second factor', async () => {
    const p = await verified(await person());
    await enableTotp(p);
    await p.t.call('POST', '/email-otp', { body: { email: p.email } });
    const r = await useCode(p, codeIn(await p.box.next(p.email)));
    expect(r.body).toMatchObject({ twoFactorRequired: true, twoFactorToken: expect.any(String) });
  });
});
