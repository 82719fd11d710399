import { beforeAll, beforeEach, expect, it } from 'vitest';
import { ask, code, exchange, form, refreshWith, register, signUp, tokens } from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';

let t: TestService;
const logged: Json[] = [];
beforeAll(async () => {
  const ignored = () => {};
  const info = (fields: object, message: string) => logged.push({ ...fields, message });
  t = await createTestService({ lasting: true, log: { debug: ignored, info, warn: ignored, error: ignored } });
});
beforeEach(() => logged.splice(0));
const reasons = (): Json[] =>
  logged.flatMap(({ message, reason, clientId }) => (message === 'refused' ? [[reason, clientId]] : []));

it('each refused code and refresh token gets the same response, and its own reason and client in the log', async () => {
  const [client, other, person] = [await register(t), await register(t), await signUp(t)];
  const request = ask(client);
  const value = await code(t, person, request);
  const answers = [
    await exchange(t, request, 'lga_x'),
    await exchange(t, { ...request, client: other }, value),
    await exchange(t, request, value, { code_verifier: 'x'.repeat(43) }),
    await exchange(t, request, value),
  ];
  expect(new Set(answers.map((r) => `${r.status} ${r.text}`)).size).toBe(1);
  const got = await tokens(t, person, client);
  const first = got.refresh_token;
  const refusals = [await refreshWith(t, client, 'x'), await refreshWith(t, other, first)];
  await refreshWith(t, client, first);
  refusals.push(await refreshWith(t, client, first), await refreshWith(t, client, first));
  expect(new Set(refusals.map((r) => `${r.status} ${r.text}`)).size).toBe(1);
  const [mine, theirs] = [client.client_id, other.client_id];
  expect(reasons()).toEqual([
    ['code-unknown', mine],
    ['code-of-another-client', theirs],
    ['code-verifier', mine],
    ['code-reused', mine],
    ['refresh-token-unknown', mine],
    ['refresh-token-of-another-client', theirs],
    ['refresh-token-reused', mine],
    ['grant-ended', mine],
  ]);
  for (const secret of [value, first]) expect(JSON.stringify(logged)).not.toContain(secret);
});

it('every failed client authentication gets the same response, and its own reason in the log', async () => {
  const client = await register(t, { token_endpoint_auth_method: 'client_secret_post' });
  const fields = { grant_type: 'refresh_token', refresh_token: 'x' };
  const id = client.client_id;
  for (const more of [{ client_id: id }, { client_id: id, client_secret: 'x' }, { client_id: 'cli_x' }, {}])
    expect((await form(t, '/oauth/token', { ...fields, ...(more as Record<string, string>) })).status).toBe(401);
  const authorization = `Basic ${btoa(`${id}:${client.client_secret}`)}`;
  expect((await form(t, '/oauth/token', fields, { authorization })).status).toBe(400);
  expect(reasons()).toEqual([
    ['client-secret-missing', id],
    ['client-secret-wrong', id],
    ['client-unknown', 'cli_x'],
    ['client-id-missing', undefined],
    ['refresh-token-unknown', id],
  ]);
});
