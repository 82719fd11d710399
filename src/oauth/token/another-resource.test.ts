import { beforeAll, expect, it } from 'vitest';
import {
  claimsOf,
  form,
  formOfCode,
  type Person,
  refreshWith,
  register,
  withServers,
} from '../../../test/support/oauth.ts';
import type { Json, TestService } from '../../../test/support/service.ts';

const ISSUER = 'http://localhost:3000';
const NOTES = 'https://notes.example/mcp';

let t: TestService;
let person: Person;
let client: Json;
beforeAll(async () => {
  ({ t, person, client } = await withServers({ notes: NOTES }));
});
const codeFields = () => formOfCode(t, person, client);

it('[RFC 8707 2.2] another resource does not use the code, also with a wrong verifier', async () => {
  const fields = await codeFields();
  for (const more of [{}, { code_verifier: 'x'.repeat(43) }]) {
    const r = await form(t, '/oauth/token', { ...fields, ...more, resource: NOTES });
    expect([r.status, r.body]).toEqual([
      400,
      { error: 'invalid_target', error_description: 'The code was issued for another resource.' },
    ]);
  }
  const used = await form(t, '/oauth/token', { ...fields, resource: ISSUER });
  expect([used.status, claimsOf(used.body.access_token).aud]).toEqual([200, ISSUER]);
  expect((await form(t, '/oauth/token', { ...fields, resource: NOTES })).body.error).toBe('invalid_grant');
  // It was used again, so its grant has ended.
  expect((await refreshWith(t, client, used.body.refresh_token)).body.error).toBe('invalid_grant');
});

it('[RFC 8707 2.2] another resource reveals nothing to another client, nor about an expired code', async () => {
  const fields = { ...(await codeFields()), resource: NOTES };
  const { client_id } = await register(t);
  expect((await form(t, '/oauth/token', { ...fields, client_id })).body.error).toBe('invalid_grant');
  t.clock.advance(60_000);
  expect((await form(t, '/oauth/token', fields)).body.error).toBe('invalid_grant');
});

it.each<[string, (resource: string) => string[]]>([
  ['two resources', (resource) => [resource, NOTES]],
  ['one resource given twice', (resource) => [resource, resource]],
])('[RFC 8707 2] the token endpoint refuses %s with invalid_target', async (_what, listed) => {
  const fields = await codeFields();
  const body = new URLSearchParams(fields);
  for (const resource of listed(ISSUER)) body.append('resource', resource);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const r = await t.call('POST', '/oauth/token', { raw: body.toString(), headers });
  expect([r.status, r.body.error], r.text).toEqual([400, 'invalid_target']);
  expect((await form(t, '/oauth/token', fields)).status).toBe(200);
});
