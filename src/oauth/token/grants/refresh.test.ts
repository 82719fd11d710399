import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  claimsOf,
  form,
  formOfCode,
  type Person,
  refreshWith,
  register,
  signUp,
  tokens,
  withServers,
} from '../../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../../test/support/service.ts';

const ISSUER = 'http://localhost:3000';
const NOTES = 'https://notes.example/mcp';

let t: TestService;
let person: Person;
let client: Json;
beforeAll(async () => {
  ({ t, person, client } = await withServers({ notes: NOTES, mail: 'https://mail.example/mcp' }));
});
const codeFields = (of: Json = client, more?: Record<string, string | undefined>) => formOfCode(t, person, of, more);

describe('grant_type=refresh_token', () => {
  it('[OAuth 2.1 4.3.1] refreshing rotates the token, and keeps the scope if none is requested', async () => {
    const first = await tokens(t, person, client);
    const second = await refreshWith(t, client, first.refresh_token);
    expect(second.status).toBe(200);
    expect(second.body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: expect.any(String),
      scope: first.scope,
    });
    expect(second.body.refresh_token).not.toBe(first.refresh_token);
    expect(claimsOf(second.body.access_token)).toMatchObject({ sub: claimsOf(first.access_token).sub, aud: ISSUER });
    expect((await refreshWith(t, client, second.body.refresh_token)).status).toBe(200);
  });

  it('[RFC 9700 4.14.2; ASVS 5.0 10.4.5] a reused refresh token ends a grant, even two generations later', async () => {
    const first = await tokens(t, person, client);
    const second = (await refreshWith(t, client, first.refresh_token)).body;
    const third = (await refreshWith(t, client, second.refresh_token)).body;
    const valid = async () =>
      Promise.all([first, second, third].map(async (x) => (await t.legate.mcp.validateToken(x.access_token)).valid));
    expect(await valid()).toEqual([true, true, true]);
    expect((await refreshWith(t, client, first.refresh_token)).body.error).toBe('invalid_grant');
    expect(await valid()).toEqual([false, false, false]);
    expect((await refreshWith(t, client, third.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('[RFC 6749 6] refreshing narrows the scope for one access token, and never widens it', async () => {
    const first = await tokens(t, person, client, { scope: 'mcp:read mcp:execute' });
    const narrow = await refreshWith(t, client, first.refresh_token, { scope: 'mcp:read' });
    expect([narrow.body.scope, claimsOf(narrow.body.access_token).scope]).toEqual(['mcp:read', 'mcp:read']);
    const wide = await refreshWith(t, client, narrow.body.refresh_token, { scope: 'mcp:read agents:write' });
    expect([wide.status, wide.body.error]).toEqual([400, 'invalid_scope']);
    expect((await refreshWith(t, client, narrow.body.refresh_token)).body.scope).toBe('mcp:read mcp:execute');
  });

  it('[RFC 6749 6 and 10.4] another client cannot use a refresh token, and its attempt ends nothing', async () => {
    const first = await tokens(t, person, client);
    const other = await register(t);
    expect((await refreshWith(t, other, first.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refreshWith(t, client, first.refresh_token)).status).toBe(200);
    expect((await refreshWith(t, other, first.refresh_token)).body.error).toBe('invalid_grant');
    expect((await t.legate.mcp.validateToken(first.access_token)).valid).toBe(true);
  });

  it('[RFC 6749 5.2] any other text as a refresh token is 400 invalid_grant', async () => {
    const own = await tokens(t, person, client);
    const agent = await t.agent(await t.user());
    for (const other of [
      own.access_token,
      agent.token,
      person.token,
      client.client_secret,
      client.client_id,
      'x',
      ' ',
      `${own.refresh_token} `,
      own.refresh_token.toUpperCase(),
      own.refresh_token.slice(0, -1),
      'x'.repeat(10_240),
      'é\u{1f600}中\u0000\u202e',
    ]) {
      const r = await refreshWith(t, client, other);
      expect([r.status, r.body.error], other.slice(0, 20)).toEqual([400, 'invalid_grant']);
      expect(r.body.error_description).toBe(
        'The code or token is not valid, has expired, was revoked, or was issued to another client.',
      );
    }
    expect((await refreshWith(t, client, own.refresh_token)).status).toBe(200);
  });

  it.each<[string, Record<string, string>, string]>([
    ['none', { refresh_token: '' }, 'invalid_request'],
    ['one that was never issued', { refresh_token: 'lgr_x' }, 'invalid_grant'],
    ['an unknown resource', { resource: 'https://elsewhere.example/' }, 'invalid_target'],
    ['another resource', { resource: NOTES }, 'invalid_target'],
  ])('400 for %s', async (_what, fields, error) => {
    const { refresh_token } = await tokens(t, person, client);
    const r = await refreshWith(t, client, refresh_token, fields);
    expect([r.status, r.body.error]).toEqual([400, error]);
  });

  it('requires the secret of a client that registered with one', async () => {
    const confidential = await register(t, { token_endpoint_auth_method: 'client_secret_post' });
    const first = (
      await form(t, '/oauth/token', { ...(await codeFields(confidential)), client_secret: confidential.client_secret })
    ).body;
    expect((await refreshWith(t, confidential, first.refresh_token)).status).toBe(401);
    expect(
      (await refreshWith(t, confidential, first.refresh_token, { client_secret: confidential.client_secret })).status,
    ).toBe(200);
  });

  it('is valid for 86,400 s from each use, and at most for mcp.grantMaxAge in total', async () => {
    const own = await createTestService({ config: { mcp: { grantMaxAge: 100_000 } } });
    const app = await register(own);
    const first = await tokens(own, await signUp(own), app);
    own.clock.advance(86_399_000);
    const second = await refreshWith(own, app, first.refresh_token);
    expect(second.status).toBe(200);
    own.clock.advance(13_601_000);
    expect((await refreshWith(own, app, second.body.refresh_token)).body.error).toBe('invalid_grant');
  });
});

describe('mcp.reuseGraceSeconds', () => {
  it('also returns the same successor after the keys were rotated in the grace period', async () => {
    const own = await createTestService({ config: { mcp: { reuseGraceSeconds: 30 } } });
    const app = await register(own);
    const first = await tokens(own, await signUp(own), app);
    const second = (await refreshWith(own, app, first.refresh_token)).body;
    const secrets = own.legate.platform.secrets();
    const added = { id: 'newest_', key: randomBytes(32).toString('base64url'), createdAt: new Date().toISOString() };
    const rotated = { ...secrets, pepper: [added, ...secrets.pepper] };
    Object.assign(own.legate.platform, { secrets: () => rotated });
    const again = await refreshWith(own, app, first.refresh_token);
    expect([again.status, again.body.refresh_token]).toEqual([200, second.refresh_token]);
    expect((await refreshWith(own, app, second.refresh_token)).status).toBe(200);
  });

  it('[RFC 9700 4.14.2] in the grace period the same client gets the same successor, for one generation', async () => {
    const own = await createTestService({ config: { mcp: { reuseGraceSeconds: 30 } } });
    const app = await register(own);
    const someone = await signUp(own);
    const first = await tokens(own, someone, app);
    const second = (await refreshWith(own, app, first.refresh_token)).body;
    const again = await refreshWith(own, app, first.refresh_token, { scope: 'mcp:read' });
    expect([again.status, again.body.refresh_token, again.body.scope]).toEqual([200, second.refresh_token, 'mcp:read']);
    expect((await refreshWith(own, await register(own), first.refresh_token)).body.error).toBe('invalid_grant');
    const third = (await refreshWith(own, app, second.refresh_token)).body;
    expect((await refreshWith(own, app, first.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refreshWith(own, app, third.refresh_token)).body.error).toBe('invalid_grant');
    const late = await tokens(own, someone, app);
    await refreshWith(own, app, late.refresh_token);
    own.clock.advance(30_000);
    expect((await refreshWith(own, app, late.refresh_token)).body.error).toBe('invalid_grant');
    expect((await own.legate.mcp.validateToken(late.access_token)).valid).toBe(false);
  });
});
