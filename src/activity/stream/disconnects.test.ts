import { connect } from 'node:net';
import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { random } from '../../../test/support/random.ts';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';
import { type Listening, listen } from '../../http/node.ts';

const CUTS = 1000;
/** The end of an event and of the HTTP chunk that contains it. */
const END = Buffer.from('\n\n\r\n');
const PATH = '/api/legate/events/stream';

let t: TestService;
let owner: TestUser;
let admin: TestUser;
let agent: TestAgent;
let other: TestAgent;
let listening: Listening;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  admin = await t.admin();
  agent = await t.agent(owner);
  other = await t.agent(await t.user());
  listening = await listen(t.legate, { port: 0, host: '127.0.0.1' });
});
afterAll(async () => {
  await listening.stop();
});

/** The decoded body of a response that may be incomplete (RFC 9112, section 7.1). */
function bodyOf(raw: Buffer): Buffer {
  const pieces: Buffer[] = [];
  let at = raw.indexOf('\r\n\r\n') + 4;
  if (at === 3) return Buffer.alloc(0);
  for (let end = raw.indexOf('\r\n', at); end !== -1; end = raw.indexOf('\r\n', at)) {
    const size = Number.parseInt(raw.toString('latin1', at, end), 16);
    pieces.push(raw.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
  return Buffer.concat(pieces);
}

/**
 * Reads until `enough`, which is called with every chunk, returns where to cut. Resolves to the ids of the events that
 * arrived completely before.
 */
function read(
  query: string,
  headers: Record<string, string>,
  enough: (raw: Buffer) => number | undefined,
): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let raw = Buffer.alloc(0);
    const socket = connect(listening.port, '127.0.0.1');
    const timer = setTimeout(
      () => socket.destroy(new Error(`nothing more came after ${raw.length} bytes: ${raw.subarray(-300)}`)),
      60_000,
    );
    const lines = Object.entries({ host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${PATH}?${query} HTTP/1.1\r\n${lines.join('')}\r\n`);
    socket.on('data', (piece: Buffer) => {
      raw = Buffer.concat([raw, piece]);
      const cut = enough(raw);
      if (cut === undefined) return;
      raw = raw.subarray(0, cut);
      socket.destroy();
    });
    socket.once('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      const ids: string[] = [];
      const parser = createParser({
        onEvent: ({ id, event, data }) => {
          const record = JSON.parse(data);
          if (event === 'error' || record.id !== id || record.type !== event)
            reject(new Error(`received ${event} ${id}: ${data}`));
          ids.push(id as string);
        },
      });
      parser.feed(new TextDecoder().decode(bodyOf(raw), { stream: true }));
      resolve(ids);
    });
  });
}

it(`cut off ${CUTS} times at any byte, readers that resume with their last id get each event once, in order`, async ({
  onTestFailed,
}) => {
  const { seed, below } = random();
  onTestFailed(() => console.error(`LEGATE_TEST_SEED=${seed}`));
  t.clock.advance(1);
  const since = new Date(t.clock.now()).toISOString();
  const readers = [
    { as: agent, query: `since=${since}`, sees: { agent_id: agent.id } },
    { as: owner, query: `since=${since}`, sees: { user_id: owner.id } },
    { as: admin, query: `since=${since}&types=audit,agent.created`, sees: { type: 'audit' } },
    { as: admin, query: `since=${since}&types=cost.recorded`, sees: { type: 'cost.recorded' } },
  ];
  let cuts = 0;
  let done = false;
  const writing = (async () => {
    for (let i = 0; !done; i++) {
      const emitted = t.legate.events.emit({
        type: 'cost.recorded',
        agentId: agent.id,
        userId: owner.id,
        data: { text: `${i} Zürich 🦀 \u2028\n\n`.repeat(1 + below(40)) },
      });
      await Promise.all([
        emitted,
        ...Array.from({ length: 4 }, (_, n) =>
          t.authorize(n % 2 ? agent : other, { action: 'read', resource: `x:${i}` }),
        ),
      ]);
      // Writers do not wait for the readers: some readers reconnect to live events only, some have missed a few.
      const enough = cuts + 10;
      for (let ms = 0; ms < 5 && cuts < enough; ms++) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  const crowd = Array.from({ length: 12 }, (_, i) => ({
    ...(readers[i % readers.length] as (typeof readers)[number]),
    received: [] as string[],
  }));
  const authorization = (as: { token: string }) => ({ authorization: `Bearer ${as.token}` });
  await Promise.all(
    crowd.map(async ({ as, query, received }) => {
      while (cuts < CUTS) {
        // Some cuts are within the headers, most are within an event.
        const at = 1 + below(below(8) === 0 ? 600 : 6000);
        const last = received.at(-1);
        received.push(
          ...(await read(query, { ...authorization(as), ...(last ? { 'last-event-id': last } : {}) }, (raw) =>
            raw.length >= at ? at : undefined,
          )),
        );
        cuts++;
      }
    }),
  );
  done = true;
  await writing;
  const rows = await t.legate.platform.database.read
    .selectFrom('stream_events')
    .select(['id', 'type', 'agent_id', 'user_id'])
    .where('timestamp', '>=', t.clock.now())
    .orderBy('seq')
    .execute();
  for (const { as, query, sees, received } of crowd) {
    const committed = rows
      .filter((row) => Object.entries(sees).every(([column, value]) => row[column as keyof typeof row] === value))
      .map((row) => row.id.replace('aud_', 'evt_'));
    const before = received.length;
    const newest = `id: ${committed.at(-1)}\n`;
    if (received.at(-1) !== committed.at(-1))
      received.push(
        ...(await read(
          query,
          { ...authorization(as), ...(before ? { 'last-event-id': received[before - 1] as string } : {}) },
          (raw) => (raw.includes(newest) && raw.subarray(-4).equals(END) ? raw.length : undefined),
        )),
      );
    expect(received).toEqual(committed);
    expect(before).toBeGreaterThan(0);
  }
});
