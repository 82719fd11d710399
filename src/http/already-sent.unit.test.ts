import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { expect, it } from 'vitest';
import type { Served } from './node.ts';
import { offerDirect } from './node-body.ts';

it('a stream is written once in a process where @hono/node-server has replaced the global Response', async () => {
  const natives = { Request: globalThis.Request, Response: globalThis.Response };
  getRequestListener(() => new Response(), { overrideGlobalObjects: true });
  expect(globalThis.Response).not.toBe(natives.Response);
  // The library creates its constants with the global Response at the time when it is loaded.
  const { nodeListener } = await import('./node.ts');
  const body = new ReadableStream<Uint8Array>();
  offerDirect(body, (to) => {
    to.write('data: one\n\n');
    setImmediate(() => to.end('data: two\n\n'));
  });
  const legate = {
    baseUrl: 'http://localhost',
    hot: () => false,
    fetch: () => new natives.Response(body, { headers: { 'content-type': 'text/event-stream' } }),
  } as unknown as Served;
  const handle = nodeListener(legate);
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/events`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(await answer.text()).toBe('data: one\n\ndata: two\n\n');
  } finally {
    server.close();
    Object.assign(globalThis, natives);
  }
});
