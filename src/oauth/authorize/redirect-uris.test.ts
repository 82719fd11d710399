import { beforeAll, describe, expect, it } from 'vitest';
import {
  ask,
  authorizePath,
  consent,
  exchange,
  opened,
  type Person,
  register,
  signUp,
} from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

let t: TestService;
let person: Person;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  person = await signUp(t);
});

describe('redirect URIs on loopback', () => {
  const uris = [
    'http://localhost/callback',
    'http://127.0.0.1/callback',
    'http://[::1]/callback',
    'http://127.0.0.1:33418/',
    'cursor://anysphere.cursor-mcp/oauth/callback',
  ];
  let native: Json;
  beforeAll(async () => {
    native = await register(t, { redirect_uris: uris, token_endpoint_auth_method: 'none' });
  });

  it.each([
    ...uris,
    'http://localhost:5123/callback',
    'http://127.0.0.1:65535/callback',
    'http://[::1]:1/callback',
    'http://127.0.0.1:1024/',
  ])('[RFC 8252 7.3] on loopback the port may differ: %s is registered', async (uri) => {
    const request = ask(native, { redirect_uri: uri });
    const r = await consent(t, person, request);
    expect(r.status, r.text).toBe(303);
    expect(r.headers.get('location')?.startsWith(`${uri}?code=`)).toBe(true);
    const codeOf = new URLSearchParams((r.headers.get('location') ?? '').split('?')[1]).get('code') ?? '';
    expect((await exchange(t, request, codeOf)).status).toBe(200);
  });

  it.each([
    'http://localhost/Callback',
    'http://localhost:5123/callback/',
    'http://localhost:5123/callback?x=1',
    'http://localhost:5123',
    'http://localhost:99999/callback',
    'http://127.0.0.2/callback',
    'http://127.1/callback',
    'http://0.0.0.0/callback',
    'http://localhost.evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://localhost@evil.example/callback',
    'https://localhost/callback',
    'http://[::ffff:127.0.0.1]/callback',
    'cursor://anysphere.cursor-mcp:80/oauth/callback',
    'cursor://evil/oauth/callback',
    'cursor://anysphere.cursor-mcp/oauth/callback?x',
  ])('[RFC 8252 7.3; RFC 9700 4.1.3] only the port may differ: %s is not registered', async (uri) => {
    const r = await opened(t, authorizePath(ask(native, { redirect_uri: uri })), { as: person });
    expect([r.status, r.headers.has('location')]).toEqual([400, false]);
  });
});
