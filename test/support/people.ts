import { generateSync } from 'otplib';
import { expect } from 'vitest';
import type { Id } from '../../src/kernel/ids.ts';
import { eventsOf } from './events.ts';
import { codeIn, type Mailbox, openMailbox, tokenIn } from './mailbox.ts';
import { type Answered, createTestService, type TestOptions, type TestService } from './service.ts';

export const PASSWORD = 'correct horse battery';

export interface Person {
  readonly t: TestService;
  readonly box: Mailbox;
  readonly id: Id<'user'>;
  readonly email: string;
  /** Session token of the sign-up. */
  readonly session: string;
}

/** A service for a whole file, with a mailbox for its mail. */
export function withMailbox(options: TestOptions = {}): () => Promise<{ t: TestService; box: Mailbox }> {
  let service: Promise<{ t: TestService; box: Mailbox }> | undefined;
  const open = async (): Promise<{ t: TestService; box: Mailbox }> => {
    const box = await openMailbox();
    const t = await createTestService({
      lasting: true,
      ...options,
      config: { ...options.config, mail: { url: box.url } },
    });
    return { t, box };
  };
  return () => (service ??= open());
}

let count = 0;

/** Signs up a person with {@link PASSWORD}. */
export async function signedUp({ t, box }: { t: TestService; box: Mailbox }): Promise<Person> {
  const email = `person${++count}@example.com`;
  const r = await t.call('POST', '/sign-up', { body: { email, password: PASSWORD } });
  expect(r.status).toBe(200);
  return { t, box, email, id: r.body.user.id, session: r.body.token };
}

/** Verifies the address while signed in to the account, so that no credentials end. */
export async function verified(p: Person): Promise<Person> {
  const token = await mailedToken(p, '/verify-email/send');
  expect((await p.t.call('POST', '/verify-email', { as: p.session, body: { token } })).status).toBe(200);
  return p;
}

export const signIn = (p: Person, password = PASSWORD): Promise<Answered> =>
  p.t.call('POST', '/sign-in', { body: { email: p.email, password } });
/** Signs in and returns the cookie of a browser that is known from then on. */
export async function knownBrowser(p: Person): Promise<string> {
  const cookies = (await signIn(p)).headers.getSetCookie();
  const cookie = cookies.find((c) => c.includes('_known_device='))?.split(';')[0];
  expect(cookie).toBeDefined();
  return cookie as string;
}

export const isSignedIn = async (p: Person, session = p.session): Promise<boolean> =>
  (await p.t.call('GET', '/auth/session', { as: session })).status === 200;

/** Returns the token or code of the next mail that a request sends. */
export async function mailedToken(p: Person, path: string, body: object = {}): Promise<string> {
  expect((await p.t.call('POST', path, { body: { email: p.email, ...body } })).status).toBe(200);
  return tokenIn(await p.box.next(p.email));
}
export async function mailedCode(p: Person): Promise<string> {
  expect((await p.t.call('POST', '/email-otp', { body: { email: p.email } })).status).toBe(200);
  return codeIn(await p.box.next(p.email));
}

export const form = (fields: Record<string, string>) => ({
  raw: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
});

export const eventsAbout = async (p: Person, type: string) =>
  (await eventsOf(p.t)).filter((e) => e.type === type && e.userId === p.id);

/** Values of callbackURL on other origins, and invalid ones. */
export const FOREIGN_URLS: readonly string[] = [
  'https://elsewhere.example/',
  '//elsewhere.example/x',
  '/\\elsewhere.example',
  '\\\\elsewhere.example',
  'http://localhost:3000.elsewhere.example/',
  'http://localhost:3000@elsewhere.example/',
  'http://user@localhost:3000/',
  'http://localhost:3001/',
  'http://localhost:30001/',
  'https://localhost:3000/',
  'javascript:alert(1)',
  'data:text/html,x',
  'http://localhost:3000/\r\nset-cookie: a=b',
  '/\t/elsewhere.example',
  'http:elsewhere.example',
  'elsewhere',
  'https://app.example.com.elsewhere.example/',
  '',
];

/** Expects a 400 about callbackURL, for known and unknown people alike, and no mail. */
export async function expectForeignUrlsRefused(p: Person, path: string, body: object): Promise<void> {
  const before = p.box.mails.length;
  for (const callbackURL of [...FOREIGN_URLS, `/${'x'.repeat(3000)}`]) {
    const r = await p.t.call('POST', path, { body: { ...body, callbackURL } });
    expect([callbackURL, r.status]).toEqual([callbackURL, 400]);
    expect(r.body.error.details.issues[0].path).toBe('callbackURL');
  }
  await p.t.legate.platform.background.idle();
  expect(p.box.mails.length).toBe(before);
}

/** Switches the second factor on. */
export async function enableTotp(p: Person): Promise<string> {
  const { secret } = (await p.t.call('POST', '/totp/enable', { as: p.session, body: { password: PASSWORD } })).body;
  const code = generateSync({ secret, epoch: p.t.clock.now() / 1000 });
  expect((await p.t.call('POST', '/totp/verify', { as: p.session, body: { code } })).status).toBe(200);
  p.t.clock.advance(30_000);
  return secret;
}
