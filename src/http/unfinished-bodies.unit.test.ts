import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { until } from '../../test/support/until.ts';
import { UnfinishedBodies } from './unfinished-bodies.ts';

const MB = 1_048_576;
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A server that reads bodies into memory and answers with their length; at /refused, it answers before. */
async function serve(limits: { most: number; enough: number }) {
  const warn = vi.fn();
  const bodies = new UnfinishedBodies({ log: { debug() {}, info() {}, warn, error() {} } }, limits);
  let arrived = 0;
  const server = createServer((req, res) => {
    bodies.begin(req, res);
    if (req.url === '/refused') res.writeHead(401).end();
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      arrived += chunk.length;
      size += chunk.length;
    });
    req.on('end', () => res.end(String(size)));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  /** Sends a part of a body and then nothing. */
  const open = async (
    path: string,
    header: string,
    bytes = 8 * MB,
  ): Promise<{ socket: Socket; isClosed: () => boolean }> => {
    const socket = connect(port, '127.0.0.1');
    let closed = false;
    socket.on('error', () => {}).once('close', () => (closed = true));
    socket.resume();
    const all = arrived + bytes;
    socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`);
    if (header.startsWith('transfer')) socket.write(`${(9 * MB).toString(16)}\r\n`);
    socket.write(Buffer.alloc(bytes));
    await until(() => arrived >= all);
    ends.push(() => socket.destroy());
    return { socket, isClosed: () => closed };
  };
  return { warn, port, open };
}

it('closes the connections with the oldest bodies when too much has arrived of bodies that do not end', async () => {
  const { warn, port, open } = await serve({ most: 44 * MB, enough: 28 * MB });
  const refused = [
    await open('/refused', `content-length: ${9 * MB}`),
    await open('/refused', `content-length: ${9 * MB}`),
  ];
  const small = await open('/', `content-length: ${9 * MB}`, 10_000);
  const slow: Awaited<ReturnType<typeof open>>[] = [];
  for (let i = 0; i < 5; i++)
    slow.push(await open('/', i % 2 ? 'transfer-encoding: chunked' : `content-length: ${9 * MB}`));
  const whole = await new Promise<string>((done) => {
    const sent = request({ port, host: '127.0.0.1', method: 'POST' }, (res) =>
      res.once('data', (d) => done(String(d))),
    );
    sent.end(Buffer.alloc(2 * MB));
  });
  expect([whole, warn.mock.calls.length]).toEqual([String(2 * MB), 0]);
  slow.push(await open('/', `content-length: ${9 * MB}`));
  await until(() => warn.mock.calls.length > 0);
  expect(warn.mock.calls).toEqual([[{ closed: 3 }, expect.stringContaining('too slowly')]]);
  await until(() => slow.filter(({ isClosed }) => isClosed()).length === 3);
  expect(slow.map(({ isClosed }) => isClosed())).toEqual([true, true, true, false, false, false]);
  // Closing a connection of which little has arrived would free little.
  expect([...refused, small].map(({ isClosed }) => isClosed())).toEqual([false, false, false]);
});
