import { beforeAll, expect, it } from 'vitest';
import {
  ask,
  claimsOf,
  code,
  exchange,
  type Person,
  refreshWith,
  register,
  signUp,
  tokens,
} from '../../test/support/oauth.ts';
import { createTestService, type TestService } from '../../test/support/service.ts';

let t: TestService;
let person: Person;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  person = await signUp(t);
});

it('registers a client, gets a token, calls the API and refreshes the token', async () => {
  const client = await register(t);
  const request = ask(client, { scope: 'mcp:read agents:read' });
  const r = await exchange(t, request, await code(t, person, request));
  expect(r.status, r.text).toBe(200);
  expect(claimsOf(r.body.access_token)).toMatchObject({
    iss: 'http://localhost:3000',
    aud: 'http://localhost:3000',
    scope: 'mcp:read agents:read',
    user_id: person.id,
  });
  const agents = await t.call('GET', '/agents', { as: r.body.access_token });
  expect(agents.status, agents.text).toBe(200);
  expect(agents.body).toMatchObject([{ name: 'Test client', type: 'delegated' }]);
  const next = await refreshWith(t, client, r.body.refresh_token);
  expect(next.status, next.text).toBe(200);
  expect((await refreshWith(t, client, r.body.refresh_token)).body.error).toBe('invalid_grant');
  expect((await t.call('GET', '/agents', { as: next.body.access_token })).status).toBe(401);
  const again = await tokens(t, person, client);
  expect(again.token_type).toBe('Bearer');
});
