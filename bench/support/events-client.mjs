// The reader of the event figures: node events-client.mjs, with one JSON command per line on stdin and one JSON
// response per line on stdout. It uses plain sockets in a separate process, so that it needs little processor time.
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { quantile, sleep } from './numbers.mjs';

const MARK = Buffer.from('id: evt_');
const BODY = 26;
const PATIENCE_MS = 20_000;

/**
 * @type {{ socket: import('node:net').Socket, rest: Buffer | undefined, count: number, sum: number, open: boolean }[]}
 */
const streams = [];
/** The time at which the response to a decision arrived, by its id without the prefix. */
const answered = new Map();
let waits = [];
let last = 0;

function take(stream, chunk) {
  last = performance.now();
  const bytes = stream.rest ? Buffer.concat([stream.rest, chunk]) : chunk;
  let from = 0;
  for (;;) {
    const at = bytes.indexOf(MARK, from);
    if (at < 0 || at + MARK.length + BODY > bytes.length) {
      // Text that may be the beginning of an id is kept until the rest arrives.
      stream.rest = bytes.subarray(at < 0 ? Math.max(from, bytes.length - MARK.length) : at);
      return;
    }
    from = at + MARK.length + BODY;
    const id = bytes.latin1Slice(at + MARK.length, from);
    stream.count++;
    for (let i = 10; i < BODY; i++) stream.sum = (Math.imul(stream.sum, 31) + id.charCodeAt(i)) | 0;
    const answeredAt = answered.get(id);
    if (answeredAt !== undefined) waits.push(Math.max(0, last - answeredAt));
  }
}

function open({ url, paths, token }) {
  const { hostname, port, host } = new URL(url);
  return Promise.all(
    paths.map(
      (path) =>
        new Promise((resolve, reject) => {
          const socket = connect({ host: hostname, port: Number(port), noDelay: true });
          const stream = { socket, rest: undefined, count: 0, sum: 0, open: false };
          streams.push(stream);
          socket.once('error', reject);
          socket.on('data', (chunk) => {
            if (!stream.open) {
              if (!chunk.includes(' 200 ')) return reject(new Error(chunk.toString().slice(0, 300)));
              stream.open = true;
              resolve();
            }
            take(stream, chunk);
          });
          socket.write(
            `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\naccept: text/event-stream\r\n` +
              '\r\n',
          );
        }),
    ),
  );
}

/** Sends decisions at a steady rate, then waits until every stream has all of them. */
async function decide({ url, token, body, rate, seconds }) {
  const before = streams.map((s) => s.count);
  const open = new Set();
  waits = [];
  const startedAt = performance.now();
  for (let i = 0; i < rate * seconds; i++) {
    const wait = startedAt + (i * 1000) / rate - performance.now();
    if (wait > 1) await sleep(wait);
    const one = fetch(`${url}/authorize`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
    }).then(async (r) => {
      const { auditId } = await r.json();
      answered.set(auditId.slice(4), performance.now());
    });
    open.add(one);
    void one.finally(() => open.delete(one));
  }
  await Promise.all(open);
  const sent = rate * seconds;
  const deadline = performance.now() + PATIENCE_MS;
  const behind = () => streams.filter((s, i) => s.count - before[i] < sent).length;
  while (behind() > 0 && performance.now() < deadline) await sleep(20);
  const took = performance.now() - startedAt;
  const frames = streams.reduce((n, s, i) => n + s.count - before[i], 0);
  return {
    frames,
    missing: sent * streams.length - frames,
    alike: new Set(streams.map((s) => s.sum)).size === 1,
    took,
    p50: quantile(waits, 0.5),
    p99: quantile(waits, 0.99),
  };
}

/** Waits until the only stream has `count` frames. `took` is the time from the beginning to the last of them. */
async function until({ count, since }) {
  while (streams[0].count < count) {
    if (performance.now() - last > PATIENCE_MS) throw new Error(`only ${streams[0].count} of ${count} came`);
    await sleep(5);
  }
  return { count: streams[0].count, took: performance.timeOrigin + last - since };
}

const commands = {
  open,
  decide,
  until,
  count: () => ({ frames: streams.reduce((n, s) => n + s.count, 0) }),
  close: () => {
    for (const { socket } of streams.splice(0)) socket.destroy();
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    console.log(JSON.stringify({ ok: (await commands[command.do](command)) ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
process.exit(0);
