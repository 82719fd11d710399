import { beforeAll, describe, expect, it } from 'vitest';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';

let t: TestService;
let owner: TestUser;
let stranger: TestUser;
let agent: TestAgent;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  stranger = await t.user();
  agent = await t.agent(owner, {
    permissions: [
      { resource: 'doc:1', actions: ['read', 'write'] },
      { resource: 'doc:3', actions: ['read'] },
      { resource: 'mcp:github:*', actions: ['execute'] },
      { resource: 'files:home', actions: ['read'], constraints: { allowedArgPatterns: ['/home/**'] } },
      { resource: 'bank:x', actions: ['pay'], constraints: { requireApproval: true } },
      { resource: 'net:1', actions: ['read'], constraints: { ipAllowlist: ['0.0.0.0/0', '::/0'] } },
    ],
  });
});

const post = (
  path: string,
  body: unknown,
  as: { token: string } | string = owner,
  headers: Record<string, string> = {},
) => t.call('POST', `/access/v1/${path}`, { as, body, headers });
const evaluation = (id: string, name = 'read', more: Json = {}): Json => ({
  subject: { type: 'agent', id: agent.id },
  action: { name },
  resource: { type: 'doc', id },
  ...more,
});

describe('POST /access/v1/evaluation', () => {
  it('[AuthZEN 6] an evaluation returns the decision of POST /authorize, recorded like any other', async () => {
    const yes = await post('evaluation', evaluation('1'), owner, { 'x-request-id': 'my request' });
    expect(yes.status).toBe(200);
    expect(yes.body).toEqual({ decision: true, context: { auditId: expect.stringMatching(/^aud_/) } });
    expect(yes.headers.get('x-request-id')).toBe('my request');
    const no = await post('evaluation', evaluation('2'));
    expect(no.body).toEqual({
      decision: false,
      context: { auditId: expect.stringMatching(/^aud_/), reason: 'NO_PERMISSION' },
    });
    expect((await t.call('GET', `/audit/${no.body.context.auditId}`, { as: owner })).body).toMatchObject({
      agentId: agent.id,
      action: 'read',
      resource: 'doc:2',
      result: 'denied',
    });
  });

  it('[AuthZEN 5] action.properties are the arguments, context has ip and userAgent; others are ignored', async () => {
    const ask = (path: string) =>
      post('evaluation', {
        subject: { type: 'agent', id: agent.id, properties: { department: 'x' } },
        action: { name: 'read', properties: { path } },
        resource: { type: 'files', id: 'home', note: 1 },
        context: { ip: '192.0.2.7', userAgent: 'curl', time: 'now' },
        extra: true,
      });
    expect((await ask('/home/a')).body.decision).toBe(true);
    const no = (await ask('/etc/passwd')).body;
    expect(no.context.reason).toBe('ARGUMENTS_NOT_ALLOWED');
    expect((await t.call('GET', `/audit/${no.context.auditId}`, { as: owner })).body).toMatchObject({
      parameters: { path: '/etc/passwd' },
      ip: '192.0.2.7',
      userAgent: 'curl',
    });
    const waits = await post('evaluation', { ...evaluation('x', 'pay'), resource: { type: 'bank', id: 'x' } });
    expect(waits.body.context).toMatchObject({
      reason: 'APPROVAL_REQUIRED',
      approvalId: expect.stringMatching(/^apr_/),
    });
  });

  it.each<Json>([
    { ip: 'unknown' },
    { ip: null },
    { ip: 7, userAgent: 7 },
    { ip: { v4: '192.0.2.7' }, userAgent: { name: 'curl' } },
    { ip: '192.0.2.7\u0000', userAgent: 'x'.repeat(5000) },
    { userAgent: null, time: { zone: [1] } },
  ])('[AuthZEN 5] an evaluation ignores %j', async (context) => {
    const r = await post('evaluation', evaluation('1', 'read', { context }));
    expect([r.status, r.body.decision]).toEqual([200, true]);
    const entry = (await t.call('GET', `/audit/${r.body.context.auditId}`, { as: owner })).body;
    expect([entry.ip, entry.userAgent]).toEqual([null, null]);
    // An invalid address matches no allow-list.
    const local = { resource: { type: 'net', id: '1' }, context };
    expect((await post('evaluation', evaluation('1', 'read', local))).body).toMatchObject({
      decision: false,
      context: { reason: 'IP_NOT_ALLOWED' },
    });
    const several = await post('evaluations', { ...evaluation('1', 'read', { context }), evaluations: [{}] });
    expect([several.status, several.body.evaluations[0].decision]).toEqual([200, true]);
    const found = await post('search/action', { ...evaluation('1', 'read', { context }), action: undefined });
    expect([found.status, found.body.results]).toEqual([200, [{ name: 'read' }, { name: 'write' }]]);
  });

  it('200 false for a subject that is unknown, of another type, or not the caller’s', async () => {
    const none = { decision: false, context: { reason: 'SUBJECT_NOT_FOUND' } };
    expect((await post('evaluation', evaluation('1'), stranger)).body).toEqual(none);
    for (const subject of [
      { type: 'agent', id: 'agt_x' },
      { type: 'user', id: agent.id },
    ])
      expect((await post('evaluation', evaluation('1', 'read', { subject }))).body).toEqual(none);
    expect((await post('evaluation', evaluation('1'), agent)).body.decision).toBe(true);
  });

  it.each<[string, Json]>([
    ['no subject', { subject: undefined }],
    ['a subject without id', { subject: { type: 'agent' } }],
    ['a subject that is a text', { subject: 'alice' }],
    ['no action', { action: undefined }],
    ['an action without name', { action: {} }],
    ['no resource', { resource: undefined }],
    ['a resource without type', { resource: { id: '1' } }],
    ['a context that is a list', { context: [] }],
  ])('[AuthZEN 6] an evaluation is 400: %s', async (_, more) => {
    expect((await post('evaluation', evaluation('1', 'read', more))).status).toBe(400);
  });

  it('[AuthZEN 10] responses with 400, 401 and 403 have the request id too', async () => {
    const echo = async (body: unknown, as?: { token: string } | string): Promise<[number, string | null]> => {
      const r = await t.call('POST', '/access/v1/evaluation', {
        ...(as ? { as } : {}),
        body,
        headers: { 'x-request-id': 'again' },
      });
      return [r.status, r.headers.get('x-request-id')];
    };
    expect(await echo({}, owner)).toEqual([400, 'again']);
    expect(await echo(evaluation('1'))).toEqual([401, 'again']);
    expect(await echo(evaluation('1'), await t.apiToken(owner.id, ['audit:read']))).toEqual([403, 'again']);
  });

  it('[AuthZEN 10] 400 for another media type or invalid JSON, 401 without credential, 403 without right', async () => {
    const raw = (text: string, type: string) =>
      t.call('POST', '/access/v1/evaluation', { as: owner, raw: text, headers: { 'content-type': type } });
    const ofText = await raw(JSON.stringify(evaluation('1')), 'text/plain');
    const message = 'The content type must be application/json.';
    expect([ofText.status, ofText.body.error]).toEqual([
      400,
      { code: 'VALIDATION_FAILED', message, details: { issues: [{ path: '', message }] } },
    ]);
    expect((await raw('{', 'application/json')).status).toBe(400);
    expect((await raw('[]', 'application/json')).status).toBe(400);
    expect((await t.call('POST', '/access/v1/evaluation', { body: evaluation('1') })).status).toBe(401);
    expect((await post('evaluation', evaluation('1'), await t.apiToken(owner.id, ['audit:read']))).status).toBe(403);
  });
});

describe('POST /access/v1/evaluations', () => {
  const resources = (...ids: string[]) => ids.map((id) => ({ resource: { type: 'doc', id } }));
  const decisions = async (semantic: string | undefined, ids: string[]): Promise<boolean[]> => {
    const { subject, action } = evaluation('1');
    const r = await post('evaluations', {
      subject,
      action,
      evaluations: resources(...ids),
      ...(semantic ? { options: { evaluations_semantic: semantic } } : {}),
    });
    expect(r.status).toBe(200);
    return r.body.evaluations.map((e: Json) => e.decision);
  };

  it('[AuthZEN 7] evaluations use top-level defaults, in order, with each of the three semantics', async () => {
    expect(await decisions(undefined, ['1', '2', '3'])).toEqual([true, false, true]);
    expect(await decisions('execute_all', ['2', '1'])).toEqual([false, true]);
    expect(await decisions('deny_on_first_deny', ['1', '2', '3'])).toEqual([true, false]);
    expect(await decisions('permit_on_first_permit', ['2', '1', '3'])).toEqual([false, true]);
  });

  it('200: questions that are not evaluated are not recorded', async () => {
    const count = async (): Promise<number> =>
      (await t.call('GET', `/audit?agentId=${agent.id}&limit=1000`, { as: owner })).body.length;
    const before = await count();
    await decisions('deny_on_first_deny', ['2', '1', '3']);
    expect(await count()).toBe(before + 1);
  });

  it('[AuthZEN 7] items override defaults; invalid ones deny with an error; no items mean one evaluation', async () => {
    const r = await post('evaluations', {
      ...evaluation('2'),
      evaluations: [
        { resource: { type: 'doc', id: '1' }, action: { name: 'write' } },
        {},
        { resource: { id: '1' } },
        { action: {} },
        'all',
        null,
      ],
    });
    expect(r.body.evaluations).toMatchObject([
      { decision: true },
      { decision: false, context: { reason: 'NO_PERMISSION' } },
      { decision: true },
      { decision: false, context: { error: { status: 400, message: expect.stringContaining('action.name') } } },
      { decision: false, context: { error: { status: 400 } } },
      { decision: false, context: { error: { status: 400 } } },
    ]);
    const typed = {
      ...evaluation('2'),
      resource: { type: 'doc' },
      evaluations: [{ resource: { id: '3' } }, { resource: { type: 'files', id: '3' } }, {}],
    };
    expect((await post('evaluations', typed)).body.evaluations.map((e: Json) => e.decision)).toEqual([
      true,
      false,
      false,
    ]);
    expect((await post('evaluations', evaluation('1'))).body).toMatchObject({ decision: true });
    expect((await post('evaluations', { ...evaluation('1'), evaluations: [] })).body).toMatchObject({ decision: true });
  });

  it('400 for an unknown semantic, too many items, or items that are not a list', async () => {
    const bad = async (more: Json): Promise<number> =>
      (await post('evaluations', { ...evaluation('1'), ...more })).status;
    expect(await bad({ evaluations: [{}], options: { evaluations_semantic: 'best_effort' } })).toBe(400);
    expect(await bad({ evaluations: Array.from({ length: 101 }, () => ({})) })).toBe(400);
    expect(await bad({ evaluations: {} })).toBe(400);
  });
});

describe('POST /access/v1/search/*', () => {
  it('[AuthZEN 8] a search returns what is allowed now and records nothing', async () => {
    const admin = await t.admin();
    await t.call('POST', '/mcp/servers', {
      as: admin,
      body: { name: 'github', endpoint: 'https://github.example/mcp', tools: ['list', 'merge'], authRequired: true },
    });
    const count = async (): Promise<number> => (await t.call('GET', '/audit?limit=1000', { as: owner })).body.length;
    const before = await count();
    const other = await t.agent(owner, { permissions: [{ resource: 'doc:*', actions: ['*'] }] });
    await t.agent(stranger, { permissions: [{ resource: '*', actions: ['*'] }] });
    const subjects = await post('search/subject', { ...evaluation('1'), subject: { type: 'agent' } });
    expect(subjects.body).toEqual({
      results: [
        { type: 'agent', id: agent.id },
        { type: 'agent', id: other.id },
      ].sort((a, b) => (a.id < b.id ? -1 : 1)),
      page: { next_token: '', count: 2 },
    });
    const first = await post('search/subject', { ...evaluation('1'), subject: { type: 'agent' }, page: { limit: 1 } });
    const second = await post('search/subject', {
      ...evaluation('1'),
      subject: { type: 'agent' },
      page: { limit: 1, token: first.body.page.next_token },
    });
    expect([...first.body.results, ...second.body.results]).toEqual(subjects.body.results);
    expect((await post('search/subject', { ...evaluation('1'), subject: { type: 'user' } })).body.results).toEqual([]);
    expect((await post('search/resource', { ...evaluation('x'), resource: { type: 'doc' } })).body.results).toEqual([
      { type: 'doc', id: '1' },
      { type: 'doc', id: '3' },
    ]);
    expect(
      (await post('search/resource', { ...evaluation('x', 'execute'), resource: { type: 'mcp' } })).body.results,
    ).toEqual([
      { type: 'mcp', id: 'github:list' },
      { type: 'mcp', id: 'github:merge' },
    ]);
    expect((await post('search/action', evaluation('1'))).body.results).toEqual([{ name: 'read' }, { name: 'write' }]);
    expect((await post('search/action', evaluation('1'), stranger)).body).toEqual({
      results: [],
      page: { next_token: '', count: 0 },
    });
    expect(await count()).toBe(before);
  });

  it('[AuthZEN 8] a search with missing members is 400 and names them', async () => {
    for (const path of ['search/subject', 'search/resource', 'search/action'])
      expect((await post(path, {})).status).toBe(400);
    for (const path of ['search/subject', 'search/resource', 'search/action']) {
      const paged = async (page: Json): Promise<number> => (await post(path, { ...evaluation('1'), page })).status;
      expect(await paged({ limit: -1 })).toBe(400);
      expect(await paged({ token: 'of somebody else' })).toBe(400);
      expect(await paged({ limit: 100_000, token: '' })).toBe(200);
      expect(await paged({ limit: 0 })).toBe(200);
    }
  });
});

it('[AuthZEN 9] GET /.well-known/authzen-configuration lists every endpoint without a credential', async () => {
  const r = await t.call('GET', '/.well-known/authzen-configuration');
  const at = (path: string): string => `http://localhost:3000/access/v1/${path}`;
  expect(r.body).toEqual({
    policy_decision_point: 'http://localhost:3000',
    access_evaluation_endpoint: at('evaluation'),
    access_evaluations_endpoint: at('evaluations'),
    search_subject_endpoint: at('search/subject'),
    search_resource_endpoint: at('search/resource'),
    search_action_endpoint: at('search/action'),
  });
});
