import { connect, type Socket } from 'node:net';
import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { random } from '../../../test/support/random.ts';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';
import { type Listening, listen } from '../../http/node.ts';

const READERS = 8;
const EVENTS = 400;
/** The maximum length of one event. All events together exceed the buffers at both ends of a connection. */
const LONGEST = 100_000;

let t: TestService;
let admin: TestUser;
let agent: TestAgent;
let listening: Listening;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  admin = await t.admin();
  agent = await t.agent(await t.user());
  listening = await listen(t.legate, { port: 0, host: '127.0.0.1' });
});
afterAll(async () => {
  await listening.stop();
});

interface Reader {
  readonly socket: Socket;
  readonly texts: string[];
}

/** Reads a stream until `EVENTS` events arrived, and keeps their texts. */
function follow(token: string): Promise<Reader> {
  return new Promise((resolve, reject) => {
    const socket = connect(listening.port, '127.0.0.1');
    const texts: string[] = [];
    const parser = createParser({
      onEvent: ({ data }) => texts.push((JSON.parse(data) as { data: { text: string } }).data.text),
    });
    let body = false;
    let rest = Buffer.alloc(0);
    socket.on('error', reject);
    socket.write(
      `GET /api/legate/events/stream?types=cost.recorded HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`,
    );
    socket.on('data', (piece: Buffer) => {
      rest = Buffer.concat([rest, piece]);
      if (!body) {
        const at = rest.indexOf('\r\n\r\n');
        if (at < 0) return;
        body = true;
        rest = rest.subarray(at + 4);
        resolve({ socket, texts });
      }
      // The complete chunks (RFC 9112, section 7.1).
      for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
        const size = Number.parseInt(rest.toString('latin1', 0, end), 16);
        if (rest.length < end + 2 + size + 2) return;
        parser.feed(rest.toString('utf8', end + 2, end + 2 + size));
        rest = rest.subarray(end + 2 + size + 2);
      }
    });
  });
}

it('readers that pause receive every byte of every event, like the others', async () => {
  // The clock is stopped, because a reader that is blocked for too long is disconnected.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  onTestFinished(() => clock.mockRestore());
  const { below } = random(7);
  const readers = await Promise.all(
    Array.from({ length: READERS }, (_, i) => follow(i % 2 ? agent.token : admin.token)),
  );
  const slow = readers.filter((_, i) => i % 4 > 0);
  for (const { socket } of slow) socket.pause();
  const texts = Array.from({ length: EVENTS }, (_, i) => `${i} `.repeat(below(LONGEST / 4)));
  for (const [i, text] of texts.entries()) {
    await t.legate.events.emit({ type: 'cost.recorded', agentId: agent.id, data: { text } });
    // The paused readers resume one after the other, when most events were already written.
    if (i > EVENTS * 0.8 && i % 10 === 0) slow[(i / 10) % slow.length]?.socket.resume();
  }
  await expect.poll(() => readers.filter((r) => r.texts.length < EVENTS).length, { timeout: 60_000 }).toBe(0);
  for (const reader of readers) {
    expect(reader.texts.length).toBe(EVENTS);
    // toEqual would print a difference of megabytes.
    expect(reader.texts.findIndex((text, i) => text !== texts[i])).toBe(-1);
    reader.socket.destroy();
  }
});
