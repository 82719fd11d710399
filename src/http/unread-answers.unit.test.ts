import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { until } from '../../test/support/until.ts';
import { UnreadAnswers } from './unread-answers.ts';

const MB = 1_048_576;
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/**
 * A server with answers of 8 MB, and a stream at /stream that has sent 6 MB. Sockets take much less from it while their
 * clients do not read.
 */
async function serve(limits: { most: number; enough: number }) {
  const warn = vi.fn();
  const answers = new UnreadAnswers({ log: { debug() {}, info() {}, warn, error() {} } }, limits);
  const server = createServer((req, res) => {
    answers.begin(req.socket, res);
    if (req.url === '/stream') res.write('x'.repeat(6 * MB));
    else res.end('x'.repeat(8 * MB));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const open = async (path = '/'): Promise<{ socket: Socket; isClosed: () => boolean }> => {
    const socket = connect(port, '127.0.0.1');
    let closed = false;
    socket.on('error', () => {}).once('close', () => (closed = true));
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await new Promise((begun) => socket.once('readable', begun));
    ends.push(() => socket.destroy());
    return { socket, isClosed: () => closed };
  };
  return { warn, port, open };
}

it('closes the connections with most, the oldest first, when clients leave too much unread', async () => {
  const { warn, port, open } = await serve({ most: 40 * MB, enough: 24 * MB });
  const stream = await open('/stream');
  const unread = [await open(), await open(), await open()];
  const before = await fetch(`http://127.0.0.1:${port}/`);
  expect((await before.text()).length).toBe(8 * MB);
  expect(warn).not.toHaveBeenCalled();
  unread.push(await open(), await open());
  await until(() => warn.mock.calls.length > 0);
  expect(warn.mock.calls).toEqual([[{ closed: 3 }, expect.stringContaining('do not read their answers')]]);
  // A connection that was closed ends for its client when it reads.
  for (const { socket } of [stream, ...unread]) socket.resume();
  await until(() => unread.filter(({ isClosed }) => isClosed()).length === 3);
  expect(unread.map(({ isClosed }) => isClosed())).toEqual([true, true, true, false, false]);
  expect(stream.isClosed()).toBe(false);
});
