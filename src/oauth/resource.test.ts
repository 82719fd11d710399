import { beforeAll, expect, it } from 'vitest';
import { claimsOf, form } from '../../test/support/oauth.ts';
import { createTestService, type TestAgent, type TestService } from '../../test/support/service.ts';

const PLAIN = 'https://plain.example/mcp';
const WITH_PORT = 'https://port.example:443/mcp';
const LOCAL = 'http://127.0.0.1:80/mcp';
const TWIN = 'https://twin.example/mcp';
const OWN = 'http://localhost:3000';

let t: TestService;
let agent: TestAgent;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  agent = await t.agent(await t.user(), { type: 'service' });
  const endpoints = [PLAIN, WITH_PORT, LOCAL, TWIN, `${TWIN}/`, `${OWN}/`];
  for (const [i, endpoint] of endpoints.entries()) await t.legate.mcp.registerServer({ name: `server-${i}`, endpoint });
});

const ask = (resource: string) =>
  form(t, '/oauth/token', {
    grant_type: 'client_credentials',
    client_id: agent.id,
    client_secret: agent.token,
    resource,
  });

it.each([
  ['https://plain.example:443/mcp', PLAIN],
  ['https://plain.example:/mcp', PLAIN],
  ['https://port.example/mcp', WITH_PORT],
  ['http://127.0.0.1/mcp', LOCAL],
])('[RFC 8707 2] %s, with or without its default port, is %s', async (resource, registered) => {
  const r = await ask(resource);
  expect(r.status, r.text).toBe(200);
  expect(claimsOf(r.body.access_token).aud).toBe(registered);
});

it.each([
  'https://plain.example:80/mcp',
  'https://plain.example:8443/mcp',
  'http://127.0.0.1:443/mcp',
  'https://plain.example:443:443/mcp',
])('another port, as in %s, is another resource', async (resource) => {
  expect((await ask(resource)).body.error).toBe('invalid_target');
});

it.each([TWIN, `${TWIN}/`, OWN, `${OWN}/`])('[RFC 8707 2] %s is the resource that is spelled so', async (resource) => {
  expect(claimsOf((await ask(resource)).body.access_token).aud).toBe(resource);
});
