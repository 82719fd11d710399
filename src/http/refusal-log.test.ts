import { beforeAll, beforeEach, expect, it } from 'vitest';
import { createTestService, type Json, type TestService } from '../../test/support/service.ts';
import { REFUSALS } from '../kernel/refusals.ts';

const PASSWORD = 'a long enough password';

let t: TestService;
const logged: Json[] = [];
const ignored = () => {};
beforeAll(async () => {
  const info = (fields: object, message: string) => logged.push({ ...fields, message });
  t = await createTestService({ lasting: true, log: { debug: ignored, info, warn: ignored, error: ignored } });
  await t.call('POST', '/sign-up', { body: { email: 'ada@example.com', password: PASSWORD } });
});
beforeEach(() => logged.splice(0));

const refusals = (): Json[] => logged.filter((line) => line.message === 'refused');
const signIn = (email: string, password: string) => t.call('POST', '/sign-in', { body: { email, password } });

it('a refused sign-in has one response for every reason, and the log has the reason with a request id', async () => {
  const answers = [await signIn('ada@example.com', 'not the password'), await signIn('eve@example.com', PASSWORD)];
  expect(answers.map((r) => [r.status, r.text])).toEqual([
    [401, answers[0]?.text],
    [401, answers[0]?.text],
  ]);
  expect(refusals()).toEqual([
    expect.objectContaining({ code: 'INVALID_EMAIL_OR_PASSWORD', status: 401, reason: 'password-wrong' }),
    expect.objectContaining({ code: 'INVALID_EMAIL_OR_PASSWORD', status: 401, reason: 'email-unknown' }),
  ]);
  const ids = refusals().map((line) => line.requestId);
  expect(ids).toEqual([expect.stringMatching(/^req_/), expect.stringMatching(/^req_/)]);
  expect(new Set(ids).size).toBe(2);
});

it('a refused form of a page is logged in the same way', async () => {
  const r = await t.call('POST', '/account/sign-in', {
    raw: new URLSearchParams({ email: 'ada@example.com', password: 'not the password' }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost:3000' },
  });
  expect([r.status, r.text.includes('password-wrong')]).toEqual([401, false]);
  expect(refusals()).toEqual([
    expect.objectContaining({ reason: 'password-wrong', requestId: expect.stringMatching(/^req_/) }),
  ]);
});

it.each([
  ['/verify-email?token=x', 'link-unknown', undefined],
  ['/magic-link/verify?token=x', 'link-unknown', undefined],
  ['/password/reset?token=x', 'link-unknown', undefined],
  ['/setup?token=x', 'link-unknown', undefined],
  ['/api/legate/oauth/authorize?client_id=cli_x', 'client-unknown', 'cli_x'],
])('a refused page is logged in the same way: %s', async (path, reason, clientId) => {
  for (const accept of ['text/html', 'application/json']) {
    logged.splice(0);
    const r = await t.call('GET', path, { headers: { accept } });
    expect(r.status).toBeGreaterThanOrEqual(400);
    const expected = { reason, requestId: r.headers.get('x-request-id'), ...(clientId ? { clientId } : {}) };
    expect(refusals()).toEqual([expect.objectContaining(expected)]);
  }
});

it('a refused credential is logged with its reason, and never with the credential', async () => {
  const { body } = await signIn('ada@example.com', PASSWORD);
  const agent = await t.agent(await t.user());
  await t.call('POST', '/sign-out', { as: body.token });
  for (const credential of ['nonsense', body.token, `${agent.token.slice(0, -1)}~`])
    expect((await t.call('GET', '/agents', { as: credential })).status).toBe(401);
  expect(refusals().map((line) => line.reason)).toEqual([
    'credential-unrecognised',
    'session-unknown',
    'credential-unrecognised',
  ]);
  expect(JSON.stringify(logged)).not.toContain(body.token);
});

it('an error without a reason is not logged, because the response says everything', async () => {
  expect((await t.call('GET', '/agents/agt_0', { as: await t.user() })).status).toBe(404);
  expect((await t.call('POST', '/sign-in', { body: {} })).status).toBe(400);
  expect(refusals()).toEqual([]);
});

it('every reason has its own explanation', () => {
  const sentences = Object.values(REFUSALS);
  expect(new Set(sentences).size).toBe(sentences.length);
  for (const sentence of sentences) expect(sentence).toMatch(/^\S.*\.$/);
});
