import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Listening, listen } from '../../src/http/node.ts';
import type { Log } from '../../src/platform.ts';
import { send } from '../support/over-socket.ts';
import { createTestService, type Json, type TestService } from '../support/service.ts';

const lines: Json[] = [];
const at = (level: string) => (fields: object, message: string) => lines.push({ ...fields, level, message });
const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };

let t: TestService;
let server: Listening;
beforeAll(async () => {
  t = await createTestService({
    lasting: true,
    log,
    config: { baseUrl: 'https://legate.example', gateway: { servers: { notes: { command: '/nowhere/x' } } } },
  });
  server = await listen(t.legate, { port: 0, host: '127.0.0.1' });
});
afterAll(() => server.stop(1000));
beforeEach(() => lines.splice(0));

const requests = (): Json[] => lines.filter((line) => line.message === 'request');
const FORM = { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://legate.example' };

/**
 * One response of each kind: JSON, no body, errors, redirects, pages, preflight, streams, unknown methods and paths.
 */
const KINDS: readonly [string, string, Record<string, string>?][] = [
  ['GET', '/health/live'],
  ['HEAD', '/health/live'],
  ['POST', '/health/live'],
  ['GET', '/nowhere'],
  ['GET', '/agents'],
  ['GET', '/metrics'],
  ['GET', '/openapi.json'],
  ['GET', '/docs'],
  ['GET', '/docs/swagger-ui.css'],
  ['GET', '/account/sign-in', { accept: 'text/html' }],
  ['GET', '/account/devices', { accept: 'text/html' }],
  ['POST', '/account/sign-in', FORM],
  ['GET', '/api/legate/oauth/authorize'],
  ['POST', '/api/legate/oauth/token', FORM],
  ['OPTIONS', '/.well-known/oauth-authorization-server', { 'access-control-request-method': 'GET' }],
  ['GET', '/.well-known/oauth-authorization-server'],
  ['GET', '/api/legate/events/stream', { accept: 'text/event-stream' }],
  ['GET', '/auth/session', { authorization: 'Bearer x' }],
];

describe('every response', () => {
  it.each(KINDS)('%s %s has the security headers and X-Request-ID (OWASP ASVS 3.4)', async (method, path, headers) => {
    const r = await t.call(method, path, { headers: { ...headers } });
    const { 'content-security-policy': policy, 'referrer-policy': referrer, ...rest } = Object.fromEntries(r.headers);
    expect(rest).toMatchObject({
      'x-content-type-options': 'nosniff',
      'strict-transport-security': 'max-age=31536000',
      'cross-origin-resource-policy': 'same-origin',
      'x-request-id': expect.stringMatching(/^req_[0-9a-z]{26}$/),
    });
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(referrer).toMatch(/^(no-referrer|same-origin)$/);
  });

  it('has no HSTS header where the base URL is http', async () => {
    const plain = await createTestService();
    const r = await plain.call('GET', '/health/live');
    expect(r.headers.get('strict-transport-security')).toBeNull();
  });

  it('accepts only an X-Request-ID of the usual form', async () => {
    const idOf = async (given: string) =>
      (await t.call('GET', '/health/live', { headers: { 'x-request-id': given } })).headers.get('x-request-id');
    for (const good of ['a', 'A-Z.09_', 'x'.repeat(128)]) expect(await idOf(good)).toBe(good);
    for (const bad of ['', 'a b', 'x'.repeat(129), 'a,b', '"', 'ü'])
      expect(await idOf(bad), bad).toMatch(/^req_[0-9a-z]{26}$/);
  });

  it.each([
    ['GET', '/auth/session', 401, undefined],
    ['POST', '/authorize', 401, '{}'],
    ['GET', '/health/live', 200, undefined],
    ['GET', '/nowhere', 404, undefined],
  ])('has them over a socket too: %s %s', async (method, path, status, body) => {
    const r = await send(
      server.port,
      method,
      path,
      { 'x-request-id': 'mine', authorization: 'Bearer x', 'content-type': 'application/json' },
      body === undefined ? undefined : Buffer.from(body),
    );
    expect([r.status, r.headers['x-content-type-options']]).toEqual([status, 'nosniff']);
    expect(requests()).toEqual([expect.objectContaining({ status, method, requestId: 'mine' })]);
  });

  it('to an invalid Host is the same over a socket', async () => {
    const r = await send(server.port, 'GET', '/agents', { host: 'a b' });
    expect(r.status).toBe(400);
    expect(r.headers).toMatchObject({ 'strict-transport-security': 'max-age=31536000' });
  });
});

describe('the log of requests', () => {
  it('has a line for each at debug: caller, request, client address, duration and the id in the response', async () => {
    const alice = await t.user();
    const agent = await t.agent(alice);
    lines.splice(0);
    const r = await t.call('GET', `/agents/${agent.id}?token=secret`, { as: agent, ip: '192.0.2.7' });
    expect(requests()).toEqual([
      {
        level: 'debug',
        message: 'request',
        requestId: r.headers.get('x-request-id'),
        method: 'GET',
        route: '/agents/:id',
        status: 200,
        ms: expect.any(Number),
        principal: { kind: 'agent', id: agent.id },
        ip: '192.0.2.7',
      },
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('names a person, an anonymous caller, and a request that matches no route', async () => {
    const alice = await t.user();
    await t.call('GET', '/agents', { as: alice });
    await t.call('GET', '/agents');
    await t.call('PATCH', '/agents', { as: alice });
    await t.call('GET', '/secret-path', { as: alice });
    expect(requests().map(({ method, route, status, principal }) => [method, route, status, principal])).toEqual([
      ['GET', '/agents', 200, { kind: 'user', id: alice.id }],
      ['GET', '/agents', 401, { kind: 'anonymous' }],
      ['PATCH', '/agents', 405, { kind: 'anonymous' }],
      ['GET', 'unknown', 404, { kind: 'anonymous' }],
    ]);
  });

  it.each([
    ['/sign-in', 'content-length: 100\r\n\r\n{'],
    ['/sign-in', 'transfer-encoding: chunked\r\n\r\n1\r\n{\r\n'],
    ['/api/legate/oauth/token', 'transfer-encoding: chunked\r\n\r\n1\r\na\r\n'],
    ['/gateway/notes/mcp', 'transfer-encoding: chunked\r\n\r\n1\r\n{\r\n'],
  ])('%s: a client that disconnects within its body (%j) is not a failure of the service', async (path, rest) => {
    const agent = await t.agent(await t.user());
    const type = path.endsWith('token') ? FORM['content-type'] : 'application/json';
    lines.splice(0);
    const socket = connect(server.port, '127.0.0.1');
    const head = `host: x\r\nauthorization: Bearer ${agent.token}\r\ncontent-type: ${type}\r\n${rest}`;
    await new Promise<void>((sent) => socket.write(`POST ${path} HTTP/1.1\r\n${head}`, () => sent()));
    await send(server.port, 'GET', '/health/live', {});
    socket.resetAndDestroy();
    await expect
      .poll(() => requests().map(({ route, status }) => [route, status]))
      .toContainEqual([path.replace('notes', ':name'), 400]);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('is at level info with log.requests, and is not created below the level', async () => {
    const loud = await createTestService({ log, config: { log: { requests: true } } });
    await loud.call('GET', '/health/live');
    expect(requests().map((line) => line.level)).toEqual(['info']);
    lines.splice(0);
    const quiet = await createTestService({ log: { ...log, isLevelEnabled: (level) => level !== 'debug' } });
    await quiet.call('GET', '/health/live');
    expect(requests()).toEqual([]);
  });

  it('an unexpected error has the id of its request in the response and in the log', async () => {
    const broken = await createTestService({ log });
    const alice = await broken.user();
    Object.assign(broken.legate.platform, {
      owners: new Proxy(
        {},
        {
          get: () => {
            throw new Error('broken');
          },
        },
      ),
    });
    const r = await broken.call('POST', '/agents', {
      as: alice,
      body: { ownerId: alice.id, name: 'a', type: 'autonomous' },
      headers: { 'x-request-id': 'trace-1' },
    });
    expect([r.status, r.body.error.details.id]).toEqual([500, 'trace-1']);
    expect(lines.find((line) => line.message === 'unexpected error')).toMatchObject({ errorId: 'trace-1' });
  });
});
