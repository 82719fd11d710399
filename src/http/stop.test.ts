import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { createTestService } from '../../test/support/service.ts';
import { listen } from './node.ts';

/** Sends a request on a new connection while the thread of the server waits, and then tells the answer. */
const CLIENT = `
  const { parentPort, workerData: { port, sent } } = require('node:worker_threads');
  const flag = new Int32Array(sent);
  let answer = '';
  const socket = require('node:net').connect(port, '127.0.0.1', () => {
    socket.write('GET /health/live HTTP/1.1\\r\\nhost: localhost\\r\\n\\r\\n', () => {
      Atomics.store(flag, 0, 1);
      Atomics.notify(flag, 0);
    });
  });
  socket.on('data', (data) => { answer += data; });
  socket.on('error', () => {});
  socket.on('close', () => parentPort.postMessage(answer.split('\\r\\n')[0]));
`;

it('a request on a new connection that arrives just before the stop is answered', async () => {
  const { legate } = await createTestService();
  const listening = await listen(legate, { port: 0, host: '127.0.0.1' });
  const sent = new SharedArrayBuffer(4);
  const client = new Worker(CLIENT, { eval: true, workerData: { port: listening.port, sent } });
  const answer = new Promise((resolve) => client.once('message', resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(Atomics.wait(new Int32Array(sent), 0, 0, 60_000)).not.toBe('timed-out');
  await listening.stop();
  expect(await answer).toBe('HTTP/1.1 200 OK');
});
