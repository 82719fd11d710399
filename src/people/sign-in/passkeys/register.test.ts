import { describe, expect, it } from 'vitest';
import {
  Authenticator,
  addPasskey,
  type Deviation,
  newSession,
  registrationOptions,
  signInOptions,
  signInWithPasskey,
} from '../../../../test/support/authenticator.ts';
import { actorOf, codeOf, someone, withPasskey } from '../../../../test/support/passkeys.ts';
import { eventsAbout, withMailbox } from '../../../../test/support/people.ts';
import type { Json } from '../../../../test/support/service.ts';
import { asId } from '../../../kernel/ids.ts';

const shared = withMailbox();
const MINUTE_MS = 60_000;
const REJECTED = [422, 'PASSKEY_REJECTED'];
const REFUSED = [401, 'INVALID_PASSKEY'];

describe('adding a passkey', () => {
  it('[WebAuthn 5.4] options ask for a discoverable credential, user verification and no attestation', async () => {
    const p = await someone(await shared());
    const options = await registrationOptions(p.t, p.session);
    expect(options).toMatchObject({
      rp: { id: 'localhost', name: expect.any(String) },
      user: {
        id: Buffer.from(p.id).toString('base64url'),
        name: p.email,
        displayName: expect.stringMatching(/^User \d+$/),
      },
      pubKeyCredParams: [
        { type: 'public-key', alg: -7 },
        { type: 'public-key', alg: -257 },
      ],
      timeout: 300_000,
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
    });
    expect(Buffer.from(options.challenge, 'base64url').length).toBe(32);
  });

  it('returns and lists it, records the event with its actor, and mails the person', async () => {
    const p = await someone(await shared());
    const device = new Authenticator();
    const added = await addPasskey(p.t, p.session, device, { name: 'Key ring', synced: true });
    expect(added.status).toBe(201);
    const passkey = {
      id: expect.stringMatching(/^pky_[0-9a-z]{26}$/),
      name: 'Key ring',
      synced: true,
      transports: ['internal'],
      createdAt: new Date(p.t.clock.now()).toISOString(),
      lastUsedAt: null,
    };
    expect(added.body).toEqual(passkey);
    expect((await p.t.call('GET', '/passkeys', { as: p.session })).body).toEqual([passkey]);
    const [event] = await eventsAbout(p, 'passkey.added');
    expect(event).toMatchObject({
      data: { passkeyId: added.body.id, userId: p.id, name: 'Key ring' },
    });
    expect(await actorOf(p, 'passkey.added')).toMatchObject({ kind: 'user', id: p.id });
    const mail = await p.box.next(p.email);
    expect(mail.subject).toContain('passkey was added');
    expect(mail.text).toContain('"Key ring"');
    const options = await registrationOptions(p.t, p.session);
    expect(options.excludeCredentials).toEqual([
      { id: device.credentials[0]?.id, type: 'public-key', transports: ['internal'] },
    ]);
  });

  it.each<[string, Deviation]>([
    ['[WebAuthn 7.1] a registration from another origin is refused', { origin: 'https://elsewhere.example' }],
    ['[WebAuthn 7.1] a registration from another port is refused', { origin: 'http://localhost:3001' }],
    ['[WebAuthn 7.1] a registration from a frame of another origin is refused', { crossOrigin: true }],
    ['[WebAuthn 7.1] a registration for another relying party is refused', { rpId: 'elsewhere.example' }],
    ['[WebAuthn 7.1] a registration without user verification is refused', { uv: false }],
    ['[WebAuthn 7.1] a registration without user presence is refused', { up: false }],
    ['[WebAuthn 7.1] a registration with the response of another ceremony is refused', { type: 'webauthn.get' }],
    ['refuses attestation certificates, whose revocation lists would be fetched', { attestation: 'manufacturer' }],
    ['refuses an unknown attestation format', { attestation: 'unknown' }],
  ])('%s', async (_, deviation) => {
    const p = await someone(await shared());
    expect(codeOf(await addPasskey(p.t, p.session, undefined, deviation))).toEqual(REJECTED);
    expect((await p.t.call('GET', '/passkeys', { as: p.session })).body).toEqual([]);
  });

  it('[WebAuthn 8.2] an attestation that the new key signs itself is accepted', async () => {
    const p = await someone(await shared());
    expect((await addPasskey(p.t, p.session, undefined, { attestation: 'self' })).status).toBe(201);
  });

  it('accepts a challenge once, for 5 minutes, in its session, and one of several concurrent responses', async () => {
    const p = await someone(await shared());
    const other = await newSession(p.t, p.id);
    const device = new Authenticator();
    const verify = async (as: string, body: Json) =>
      codeOf(await p.t.call('POST', '/passkeys/register/verify', { as, body }));

    const late = device.create(await registrationOptions(p.t, p.session));
    p.t.clock.advance(5 * MINUTE_MS);
    expect(await verify(p.session, late)).toEqual(REJECTED);

    const foreign = device.create(await registrationOptions(p.t, p.session));
    expect(await verify(other, foreign)).toEqual(REJECTED);

    const replaced = device.create(await registrationOptions(p.t, p.session));
    await registrationOptions(p.t, p.session);
    expect(await verify(p.session, replaced)).toEqual(REJECTED);

    // A wrong response consumes the challenge too.
    const options = await registrationOptions(p.t, p.session);
    expect(await verify(p.session, device.create(options, { uv: false }))).toEqual(REJECTED);
    expect(await verify(p.session, device.create(options))).toEqual(REJECTED);

    const { options: signIn } = await signInOptions(p.t);
    const crossed = device.create({ ...options, challenge: signIn.challenge });
    expect(await verify(p.session, crossed)).toEqual(REJECTED);

    const last = await registrationOptions(p.t, p.session);
    const statuses = await Promise.all([0, 1, 2].map(() => verify(p.session, device.create(last))));
    expect(statuses.map(([status]) => status).sort()).toEqual([201, 422, 422]);
  });

  it('refuses a credential that is already registered, also by another person', async () => {
    const p = await withPasskey(await someone(await shared()));
    const q = await someone(await shared());
    const known = p.device.credentials[0];
    const options = await registrationOptions(q.t, q.session);
    const answer = new Authenticator().create(options);
    // The signed data also contains the id, so it is replaced in both.
    const bytes = (text: string): string => Buffer.from(text, 'base64url').toString('hex');
    const attestationObject = Buffer.from(
      bytes(answer.response.attestationObject).replace(bytes(answer.id), bytes(known?.id ?? '')),
      'hex',
    ).toString('base64url');
    const body = { ...answer, id: known?.id, rawId: known?.id, response: { ...answer.response, attestationObject } };
    expect(codeOf(await q.t.call('POST', '/passkeys/register/verify', { as: q.session, body }))).toEqual([
      409,
      'PASSKEY_EXISTS',
    ]);
  });

  it('allows at most 20 a person', async () => {
    const p = await withPasskey(await someone(await shared()));
    const row = { user_id: p.id, public_key: 'x', counter: 0, transports: '[]', name: 'x', synced: 0, created_at: 0 };
    await p.t.legate.platform.database.write
      .insertInto('passkeys')
      .values(
        Array.from({ length: 18 }, (_, i) => ({
          ...row,
          id: asId('passkey', `pky_${p.id}_${i}`),
          credential_id: `${p.id}_${i}`,
          last_used_at: null,
        })),
      )
      .execute();
    const options = await registrationOptions(p.t, p.session);
    expect((await addPasskey(p.t, p.session)).status).toBe(201);
    expect(options.challenge).toBeTruthy();
    expect(codeOf(await p.t.call('POST', '/passkeys/register/options', { as: p.session }))).toEqual([
      422,
      'PASSKEY_LIMIT_EXCEEDED',
    ]);
  });

  it('requires a session and a sign-in within the last 15 minutes', async () => {
    const p = await withPasskey(await someone(await shared()));
    const token = await p.t.apiToken(p.id);
    expect(codeOf(await p.t.call('POST', '/passkeys/register/options', { as: token }))).toEqual([403, 'FORBIDDEN']);
    const stray = { as: token, body: new Authenticator().create(await registrationOptions(p.t, p.session)) };
    expect(codeOf(await p.t.call('POST', '/passkeys/register/verify', stray))).toEqual([403, 'FORBIDDEN']);
    const waiting = new Authenticator().create(await registrationOptions(p.t, p.session));
    p.t.clock.advance(15 * MINUTE_MS + 1);
    const old = [403, 'REAUTHENTICATION_REQUIRED'];
    const refused = await p.t.call('POST', '/passkeys/register/options', { as: p.session });
    expect(codeOf(refused)).toEqual(old);
    expect(refused.body.error.details).toEqual({ method: 'POST', path: '/passkeys/sign-in/options' });
    const verify = { as: p.session, body: waiting };
    expect(codeOf(await p.t.call('POST', '/passkeys/register/verify', verify))).toEqual(old);
    expect(codeOf(await p.t.call('DELETE', `/passkeys/${p.passkeyId}`, { as: p.session }))).toEqual(old);
    const recent = (await signInWithPasskey(p.t, p.device)).body.token;
    expect((await p.t.call('DELETE', `/passkeys/${p.passkeyId}`, { as: recent })).status).toBe(204);
  });
});

describe('removing a passkey', () => {
  it('ends it immediately, records the event, and mails the person', async () => {
    const p = await withPasskey(await someone(await shared()));
    await p.box.next(p.email);
    expect((await p.t.call('DELETE', `/passkeys/${p.passkeyId}`, { as: p.session })).status).toBe(204);
    expect((await p.t.call('GET', '/passkeys', { as: p.session })).body).toEqual([]);
    expect(codeOf(await signInWithPasskey(p.t, p.device))).toEqual(REFUSED);
    const [event] = await eventsAbout(p, 'passkey.removed');
    expect(event).toMatchObject({ data: { passkeyId: p.passkeyId, reason: 'removed' } });
    expect(await actorOf(p, 'passkey.removed')).toMatchObject({ kind: 'user', id: p.id });
    expect((await p.box.next(p.email)).subject).toContain('passkey was removed');
    expect(codeOf(await p.t.call('DELETE', `/passkeys/${p.passkeyId}`, { as: p.session }))).toEqual([
      404,
      'PASSKEY_NOT_FOUND',
    ]);
  });

  it('404 for a passkey of another person, also for an administrator, and for text that is not an id', async () => {
    const p = await withPasskey(await someone(await shared()));
    const stranger = await someone(await shared());
    const admin = await newSession(p.t, (await p.t.admin()).id);
    for (const as of [stranger.session, admin, await p.t.admin()])
      expect((await p.t.call('DELETE', `/passkeys/${p.passkeyId}`, { as })).status).toBe(404);
    expect((await p.t.call('DELETE', '/passkeys/x%00y', { as: p.session })).status).toBe(404);
    expect((await signInWithPasskey(p.t, p.device)).status).toBe(200);
  });

  it('is part of deleting the person, and of an administrator resetting the second factor', async () => {
    const p = await withPasskey(await someone(await shared()));
    const admin = await p.t.admin();
    expect((await p.t.call('DELETE', `/users/${p.id}/second-factor`, { as: admin })).status).toBe(204);
    const [event] = await eventsAbout(p, 'passkey.removed');
    expect(event).toMatchObject({ data: { reason: 'second-factor-reset' } });
    expect(await actorOf(p, 'passkey.removed')).toMatchObject({ kind: 'apiToken', userId: admin.id });
    const q = await withPasskey(await someone(await shared()));
    expect((await q.t.call('DELETE', `/users/${q.id}`, { as: admin })).status).toBe(204);
    expect(codeOf(await signInWithPasskey(q.t, q.device))).toEqual(REFUSED);
    const { read } = p.t.legate.platform.database;
    const left = await read.selectFrom('passkeys').selectAll().where('user_id', 'in', [p.id, q.id]).execute();
    expect(left).toEqual([]);
  });
});
