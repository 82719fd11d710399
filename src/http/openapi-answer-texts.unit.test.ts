import { expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { modules } from '../modules.ts';
import { mountRoutes } from './app.ts';
import { describeApi, describedRoutes } from './openapi.ts';

const { values: config } = readConfig({ code: {}, env: {}, production: false, readFile: () => '' });
const document = describeApi(describedRoutes(mountRoutes(modules, config)), {
  config,
  baseUrl: 'http://localhost:3000',
}) as { paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>> };

const texts: Record<string, string> = {};
for (const [path, operations] of Object.entries(document.paths))
  for (const [method, { responses }] of Object.entries(operations))
    for (const [status, { description }] of Object.entries(responses))
      if (Number(status) < 400) texts[`${method.toUpperCase()} ${path} ${status}`] = description;

it('a response is described by what it contains, from the summary or the name of its schema', () => {
  expect(texts).toMatchObject({
    'GET /agents 200': 'A page of agents.',
    'GET /agents/{id} 200': 'The agent.',
    'POST /agents 201': 'The agent, with its token, which is shown once.',
    'PATCH /agents/{id} 200': 'The agent, as it is now; with `preview=true`, what the request would do.',
    'DELETE /agents/{id} 200': 'With `preview=true`, what the request would do.',
    'DELETE /agents/{id} 204': 'Carried out, without content.',
    'POST /authorize/batch 200': 'The decisions, in the order of the questions.',
    'POST /mcp/servers 201': 'The new MCP server.',
    'POST /sign-in 200': 'Signed in: the session, with its token, and its user; or the second factor is required.',
    'GET /audit/{id}/proof 200': 'A proof that an audit entry is in the ledger.',
    'GET /scim/v2/Users/{id} 304': 'Not changed since the version in If-None-Match.',
  });
});

it('each response has a specific description instead of a general one', () => {
  const all = Object.entries(texts);
  expect(all.length).toBeGreaterThan(200);
  expect(
    all.filter(([, text]) => !/^[A-Z].{4,}\.$/.test(text) || /^(Done|Made|The (result|answer))\.$/.test(text)),
  ).toEqual([]);
  expect(all.filter(([, text]) => /\b(Get|List|Find|Prove|Export|Check) /.test(text))).toEqual([]);
});
