import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, expect, it } from 'vitest';
import { guardingLegate } from '../../../test/support/guarding-legate.ts';
import { fastifyMcp } from './protect.ts';

const legate = guardingLegate(['mcp:execute'], async ({ resource }) =>
  resource.endsWith(':delete') ? { allowed: false, reason: 'NO_PERMISSION' } : { allowed: true },
);
const ENDPOINT = 'http://localhost/mcp';
const REFUSED = /NO_PERMISSION/;
const call = (name: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } });

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** The bodies that reached the handler. */
let reached: unknown[] = [];
async function guarded(app: FastifyInstance): Promise<FastifyInstance> {
  reached = [];
  closing.push(() => app.close());
  await app.register(fastifyMcp({ legate, server: { name: 'notes', endpoint: ENDPOINT } }));
  app.all('/mcp', async ({ body }) => {
    reached.push(body);
    return { done: true };
  });
  await app.ready();
  return app;
}

const HEADERS = { authorization: 'Bearer x', 'content-type': 'application/json' };

it('a call over HTTP/2 is decided, although no header states that its body follows', async () => {
  const app = await guarded(fastify({ http2: true }) as unknown as FastifyInstance);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const client = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
  closing.push(() => client.close());
  const send = (method: 'GET' | 'POST', body?: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = {
        ':method': method,
        ':path': '/mcp',
        ...(body === undefined ? { authorization: 'Bearer x' } : HEADERS),
      };
      const request = client.request(headers, { endStream: body === undefined });
      let answer = '';
      request.setEncoding('utf8').on('data', (chunk: string) => {
        answer += chunk;
      });
      request.on('end', () => resolve(answer)).on('error', reject);
      if (body !== undefined) request.end(body);
    });
  expect(await send('POST', call('delete'))).toMatch(REFUSED);
  expect(reached).toEqual([]);
  expect(await send('POST', call('search'))).toBe('{"done":true}');
  expect(await send('GET')).toBe('{"done":true}');
  expect(reached).toEqual([JSON.parse(call('search')), undefined]);
});

it('a body that is not JSON does not reach the handler undecided', async () => {
  const app = await guarded(fastify());
  const headers = { ...HEADERS, 'content-type': 'text/plain' };
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/mcp', headers, payload: call('delete') });
  expect([statusCode, JSON.parse(body).error.code]).toEqual([400, -32700]);
  expect(reached).toEqual([]);
});

it.each<[string, (app: FastifyInstance) => unknown]>([
  [
    'as text',
    (app) =>
      app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => done(null, text)),
  ],
  [
    'as bytes',
    (app) =>
      app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes)),
  ],
  [
    'as a stream',
    (app) => app.addContentTypeParser('application/json', (_request, stream, done) => done(null, stream)),
  ],
  ['not at all', (app) => app.addContentTypeParser('application/json', (_request, _stream, done) => done(null))],
])('a body that a parser of the application passes on %s does not reach the handler undecided', async (_how, parse) => {
  const app = fastify();
  parse(app);
  await guarded(app);
  const { statusCode } = await app.inject({ method: 'POST', url: '/mcp', headers: HEADERS, payload: call('delete') });
  expect([statusCode, reached]).toEqual([500, []]);
});
