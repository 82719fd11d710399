import { beforeAll, describe, expect, it } from 'vitest';
import { FormClient } from '../../../test/support/browser-like.ts';
import {
  CLIENT,
  callback,
  openPretendedProvider,
  type PretendedProvider,
} from '../../../test/support/identity-provider.ts';
import { type Mailbox, openMailbox } from '../../../test/support/mailbox.ts';
import { mailedToken } from '../../../test/support/people.ts';
import {
  createTestService,
  FakeClock,
  type Json,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import type { Id } from '../../kernel/ids.ts';

const MINUTE = 60_000;
let t: TestService;
let admin: TestUser;
let provider: PretendedProvider;
let other: PretendedProvider;
let box: Mailbox;
let count = 0;

beforeAll(async () => {
  const clock = new FakeClock();
  // The provider uses the clock of the system.
  clock.set(new Date().toISOString());
  box = await openMailbox();
  const config = { federation: { allowPrivateNetworks: true }, mail: { url: box.url } };
  t = await createTestService({ lasting: true, clock, config });
  admin = await t.admin();
  [provider, other] = [await openPretendedProvider(), await openPretendedProvider()];
  for (const [name, { address }] of [
    ['acme', provider],
    ['other', other],
  ] as const) {
    const body = { name, issuer: address, uses: ['signIn'], ...CLIENT, domains: ['example.com'] };
    expect((await t.call('POST', '/issuers', { as: admin, body })).status).toBe(201);
  }
});

const PASSWORD = 'correct horse battery staple';
interface Person {
  readonly browser: FormClient;
  readonly id: Id<'user'>;
  readonly email: string;
}
async function newPerson(): Promise<Person> {
  const email = `connecting-${++count}@example.com`;
  await t.call('POST', '/sign-up', { body: { email, password: PASSWORD } });
  const browser = new FormClient(t);
  expect((await browser.post('/account/sign-in', { email, password: PASSWORD })).status).toBe(303);
  return { browser, email, id: (await browser.get('/auth/session')).body.user.id };
}
const confirm = (sub: string, at = provider): void => {
  const seconds = Math.floor(t.clock.now() / 1000);
  at.idToken = (nonce) => at.sign({ aud: CLIENT.clientId, iat: seconds, exp: seconds + 300, nonce, sub });
};
/** Presses the button of a provider. Returns the address of the provider's page. */
async function press({ browser }: Pick<Person, 'browser'>, name = 'acme'): Promise<URL> {
  const r = await browser.post('/account/connections', { action: 'connect', name });
  expect([r.status, r.headers.get('refresh')?.slice(0, 7)]).toEqual([200, '0; url=']);
  return new URL(r.headers.get('refresh')?.slice(7) ?? '');
}
async function connect(person: Pick<Person, 'browser'>, sub: string): Promise<Json> {
  const page = await press(person);
  confirm(sub);
  return person.browser.get(callback('acme', page));
}
const remove = ({ browser }: Person, at = provider) =>
  browser.post('/account/connections', { action: 'remove', issuer: at.address });
async function signsInAs(sub: string): Promise<string | undefined> {
  const browser = new FormClient(t);
  const r = await browser.get('/auth/oidc/acme/start');
  confirm(sub);
  await browser.get(callback('acme', new URL(r.headers.get('location') ?? '')));
  return (await browser.get('/auth/session')).body.user?.id;
}

describe('/account/connections', () => {
  it('connects the account of the session with an identity at a provider, which can then sign in', async () => {
    const person = await newPerson();
    const sub = 'Ada at Acme';
    expect(await signsInAs(sub)).toBeUndefined();
    const done = await connect(person, sub);
    expect([done['status'], done['headers'].get('location')]).toEqual([303, '/account/connections?done=added']);
    expect(await signsInAs(sub)).toBe(person.id);
    const page = await person.browser.get('/account/connections?done=added');
    expect(page.text).toContain('Your accounts are connected.');
    expect(page.text).toContain(provider.address);
    expect(page.text).toContain('Connect to other');
    expect(page.text).not.toContain('Connect to acme');
    const { body } = await t.call('GET', `/changes?subject=${person.id}&limit=1`, { as: admin });
    expect(body[0]).toMatchObject({
      type: 'user.updated',
      actor: { kind: 'user', id: person.id },
      after: { connection: { issuer: provider.address, subject: sub } },
    });
    const again = await connect({ browser: person.browser }, sub);
    expect(again['status']).toBe(303);
  });

  it('removes a connection, after which the identity can no longer sign in', async () => {
    const person = await newPerson();
    await connect(person, 'Bob at Acme');
    const r = await remove(person);
    expect([r.status, r.headers.get('location')]).toEqual([303, '/account/connections?done=removed']);
    expect(await signsInAs('Bob at Acme')).toBeUndefined();
    expect((await remove(person)).status).toBe(404);
    const other = await newPerson();
    await connect(other, 'Carol at Acme');
    expect((await remove(person)).status).toBe(404);
    expect(await signsInAs('Carol at Acme')).toBe(other.id);
  });

  it('ends connections when somebody else first proves the address, but keeps them for the same browser', async () => {
    const squatter = await newPerson();
    await connect(squatter, 'Gil at Acme');
    expect(await signsInAs('Gil at Acme')).toBe(squatter.id);
    await box.next(squatter.email);
    const link = { ...squatter, t, box, session: '' };
    const proved = await t.call('POST', '/magic-link/verify', {
      body: { token: await mailedToken(link, '/magic-link') },
    });
    expect(proved.status, proved.text).toBe(200);
    expect(await signsInAs('Gil at Acme')).toBeUndefined();
    const { body } = await t.call('GET', `/changes?subject=${squatter.id}&type=user.updated`, { as: admin });
    expect(body.map(({ before, after }: Json) => [before?.['connection'], after?.['connection']])).toContainEqual([
      { issuer: provider.address, subject: 'Gil at Acme' },
      undefined,
    ]);

    const owner = await newPerson();
    await connect(owner, 'Hal at Acme');
    await box.next(owner.email);
    const own = await mailedToken({ ...owner, t, box, session: '' }, '/verify-email/send');
    expect((await owner.browser.post('/verify-email', { token: own })).status).toBe(200);
    expect(await signsInAs('Hal at Acme')).toBe(owner.id);
  });

  it('keeps the last sign-in method, even if two are removed concurrently', async () => {
    const person = await newPerson();
    await connect(person, 'Dora at Acme');
    const page = await press(person, 'other');
    confirm('Dora elsewhere', other);
    expect((await person.browser.get(callback('other', page))).status).toBe(303);
    const { write } = t.legate.platform.database;
    const none = { password_hash: null, email: null, email_key: null };
    await write
      .updateTable('users')
      .set(none)
      .where('id', '=', person.id as never)
      .execute();
    const both = await Promise.all([remove(person), remove(person, other)]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 409]);
    expect(both.map(({ text }) => text).join()).toContain('This is your only way to sign in.');
  });

  it('refuses an identity of another account, and a second identity of one provider', async () => {
    const [one, two] = [await newPerson(), await newPerson()];
    await connect(one, 'Eve at Acme');
    const taken = await connect(two, 'Eve at Acme');
    expect([taken['status'], taken['text'].includes('already connected to another account')]).toEqual([409, true]);
    expect(await signsInAs('Eve at Acme')).toBe(one.id);
    // The page offers no second connection, but one that was loaded earlier may.
    const second = await connect(one, 'Eve, again');
    expect(second['status']).toBe(409);
  });

  it('completes only in the session that began, once, and within ten minutes', async () => {
    const [person, thief] = [await newPerson(), await newPerson()];
    const page = await press(person);
    confirm('Finn at Acme');
    const path = callback('acme', page);
    // The first attempt lacks the cookie of the browser; the second has it in a session of somebody else.
    expect((await thief.browser.get(path)).status).toBe(400);
    // The name of the cookie contains the name of the service, which differs on PostgreSQL.
    const [name = '', pending = ''] = [...person.browser.cookies].find(([key]) => key.endsWith('_sign_in')) ?? [];
    thief.browser.cookies.set(name, pending);
    expect((await thief.browser.get(path)).status).toBe(400);
    const nobody = new FormClient(t);
    nobody.cookies.set(name, pending);
    expect((await nobody.get(path)).status).toBe(401);
    expect(await signsInAs('Finn at Acme')).toBeUndefined();
    const late = await press(person);
    t.clock.advance(10 * MINUTE);
    expect((await person.browser.get(callback('acme', late))).status).toBe(400);
  });

  it('asks for a new sign-in after 15 minutes, before and after the visit to the provider', async () => {
    const person = await newPerson();
    t.clock.advance(14 * MINUTE);
    const page = await press(person);
    t.clock.advance(2 * MINUTE);
    confirm('Gil at Acme');
    expect((await person.browser.get(callback('acme', page))).status).toBe(403);
    const r = await person.browser.post('/account/connections', { action: 'connect', name: 'acme' });
    expect([r.status, r.text.includes('Sign in again')]).toEqual([403, true]);
    expect((await remove(person)).status).toBe(403);
  });

  it('refuses other credentials, forms of other sites, and unknown providers', async () => {
    const person = await newPerson();
    const { token } = (await t.call('POST', '/api-tokens', { as: admin, body: { name: 'mine' } })).body;
    const body = { action: 'connect', name: 'acme' };
    expect((await t.call('POST', '/account/connections', { as: { token }, body })).status).toBe(403);
    const foreign = await person.browser.post(
      '/account/connections',
      { action: 'connect', name: 'acme' },
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    );
    expect(foreign.status).toBe(403);
    const unknown = await person.browser.post('/account/connections', { action: 'connect', name: 'nobody' });
    expect(unknown.status).toBe(404);
    expect((await t.call('GET', '/account/connections')).status).toBe(303);
  });
});
