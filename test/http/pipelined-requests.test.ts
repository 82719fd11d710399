import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Listening, listen } from '../../src/http/node.ts';
import { newWorld } from '../support/world.ts';

const REQUESTS = 50;

/** Sends {@link REQUESTS} requests in one packet. `whileHandled` runs within each of them. */
async function pipelined(whileHandled: () => Promise<void> = async () => {}) {
  const { t, owner } = await newWorld();
  const counts = { handled: 0, now: 0, most: 0 };
  const fetch: typeof t.legate.fetch = async (request, connection) => {
    counts.handled++;
    counts.most = Math.max(counts.most, ++counts.now);
    await whileHandled();
    const response = await t.legate.fetch(request, connection);
    counts.now--;
    return response;
  };
  const { hot, baseUrl, platform, endStreams } = t.legate;
  const server: Listening = await listen({ fetch, hot, baseUrl, platform, endStreams }, { port: 0, host: '127.0.0.1' });
  const accepted = once(server.server, 'connection');
  const client = connect(server.port, '127.0.0.1');
  const head = `host: x\r\nauthorization: Bearer ${owner.token}\r\n`;
  const requests = Array.from(
    { length: REQUESTS },
    (_, i) => `GET /agents?limit=1 HTTP/1.1\r\n${head}${i === REQUESTS - 1 ? 'connection: close\r\n' : ''}\r\n`,
  );
  client.write(requests.join(''));
  return { server, client, counts, accepted };
}

describe('requests that a client sends without waiting for answers', () => {
  it('are handled one after the other, so that their answers do not wait in memory', async () => {
    const { server, client, counts } = await pipelined();
    let text = '';
    for await (const chunk of client) text += chunk;
    expect(text.match(/HTTP\/1\.1 200 OK\r\n/g)).toHaveLength(REQUESTS);
    expect(counts).toEqual({ handled: REQUESTS, now: 0, most: 1 });
    await server.stop(0);
  });

  it('are not handled once the client has disconnected', async () => {
    const gate = new EventEmitter();
    const started = once(gate, 'started');
    const { server, client, counts, accepted } = await pipelined(async () => {
      gate.emit('started');
      await once(gate, 'disconnected');
    });
    const [socket] = await accepted;
    const closed = once(socket, 'close');
    await started;
    client.destroy();
    await closed;
    gate.emit('disconnected');
    await server.stop(0);
    expect(counts.handled).toBe(1);
  });
});
