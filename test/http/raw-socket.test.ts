import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Listening, listen } from '../../src/http/node.ts';
import { newWorld, type World } from '../support/world.ts';

interface Parsed {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came over the wire.
  readonly body: any;
}

interface Wire {
  readonly socket: Socket;
  /** Resolves when `count` responses have arrived. Rejects if the connection ends before. */
  answers(count: number): Promise<Parsed[]>;
  /** Resolves to everything that arrives until the server ends the connection. */
  readonly ended: Promise<string>;
}

interface Sockets extends World {
  readonly server: Listening;
  open(): Promise<Wire>;
  request(body: string, more?: string): string;
  rows(): Promise<{ resource: string | null; id: string }[]>;
}

/** Parses consecutive responses that have a content-length or one chunk. */
function parse(text: string): Parsed[] {
  const out: Parsed[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return out;
    const head = rest.slice(0, end);
    rest = rest.slice(end + 4);
    let body = '';
    if (/transfer-encoding: chunked/i.test(head)) {
      const whole = /^([0-9a-f]+)\r\n([\s\S]*?)\r\n0\r\n\r\n/i.exec(rest);
      if (whole?.[2]?.length !== Number.parseInt(whole?.[1] ?? '', 16)) return out;
      body = whole[2];
      rest = rest.slice(whole[0].length);
    } else {
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (rest.length < length) return out;
      body = rest.slice(0, length);
      rest = rest.slice(length);
    }
    out.push({ status: Number(head.slice(9, 12)), body: body.startsWith('{') ? JSON.parse(body) : body });
  }
}

async function world(): Promise<Sockets> {
  const made = await newWorld();
  const { t, agent } = made;
  const server = await listen(t.legate, { port: 0, host: '127.0.0.1' });
  const open = (): Promise<Wire> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
      let text = '';
      let done = false;
      const waiting = new Set<() => void>();
      socket.setEncoding('latin1');
      socket.on('data', (chunk: string) => {
        text += chunk;
        for (const look of waiting) look();
      });
      socket.on('error', () => {});
      const ended = new Promise<string>((end) => {
        const finish = (): void => {
          done = true;
          for (const look of waiting) look();
          end(text);
        };
        socket.once('end', finish);
        socket.once('close', finish);
      });
      socket.once('error', reject);
      socket.once('connect', () =>
        resolve({
          socket,
          ended,
          answers: (count) =>
            new Promise((got, failed) => {
              const look = (): void => {
                const parsed = parse(text);
                if (parsed.length >= count) got(parsed);
                else if (done) failed(new Error(`the connection ended after ${parsed.length} answers: ${text}`));
                else return;
                waiting.delete(look);
              };
              waiting.add(look);
              look();
            }),
        }),
      );
    });
  return {
    ...made,
    server,
    open,
    request: (body, more = '') =>
      `POST /authorize HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${agent.token}\r\n` +
      'content-type: application/json\r\n' +
      `${more === '' ? `content-length: ${Buffer.byteLength(body)}\r\n` : more}\r\n${body}`,
    rows: () =>
      t.legate.platform.database.read
        .selectFrom('stream_events')
        .select(['resource', 'id'])
        .where('type', '=', 'audit')
        .orderBy('seq')
        .execute(),
  };
}

const question = (resource: string, action = 'read'): string => JSON.stringify({ action, resource });
const connections = (server: Listening): Promise<number> =>
  new Promise((resolve, reject) => server.server.getConnections((error, n) => (error ? reject(error) : resolve(n))));

describe('POST /authorize on a bare socket', () => {
  it('answers each pipelined request with its own decision, in order, even between invalid ones', async () => {
    const w = await world();
    const wire = await w.open();
    const bodies = Array.from({ length: 60 }, (_, i) =>
      i % 10 === 7 ? '{"action":' : question(`db:${i}`, i % 3 === 0 ? 'write' : 'read'),
    );
    wire.socket.write(bodies.map((b) => w.request(b)).join(''));
    const got = await wire.answers(60);
    got.forEach((answer, i) => {
      if (i % 10 === 7) expect([i, answer.status, answer.body.error.code]).toEqual([i, 400, 'VALIDATION_FAILED']);
      else expect([i, answer.status, answer.body.allowed]).toEqual([i, 200, i % 3 !== 0]);
    });
    const byId = new Map((await w.rows()).map((r) => [r.id, r.resource]));
    expect(byId.size).toBe(54);
    got.forEach((answer, i) => {
      if (answer.status === 200) expect(byId.get(answer.body.auditId)).toBe(`db:${i}`);
    });
    wire.socket.destroy();
    await w.server.stop(500);
  });

  it('accepts a request that arrives byte by byte, while others are served', async () => {
    const w = await world();
    const slow = await w.open();
    const fast = await w.open();
    let served = 0;
    for (const byte of w.request(question('db:slow'))) {
      slow.socket.write(byte);
      if (served < 20) {
        fast.socket.write(w.request(question(`db:${served}`)));
        await fast.answers(++served);
      } else await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await slow.answers(1))[0]).toMatchObject({ status: 200, body: { allowed: true } });
    expect((await w.rows()).map((r) => r.resource)).toContain('db:slow');
    for (const wire of [slow, fast]) wire.socket.destroy();
    await w.server.stop(500);
  });

  it('decides nothing if the client closes or resets the connection before its body is complete', async () => {
    const w = await world();
    const body = question('db:half');
    // The received part may be a valid body, but the request is incomplete until the stated length has arrived.
    const whole = w.request(body, `content-length: ${body.length + 1}\r\n`);
    for (let i = 0; i < 40; i++) {
      const { socket } = await w.open();
      await new Promise((resolve) => socket.write(whole.slice(0, whole.length - (i % 20)), resolve));
      if (i % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
    await expect.poll(() => connections(w.server)).toBe(0);
    expect(await w.rows()).toEqual([]);
    const wire = await w.open();
    wire.socket.write(w.request(question('db:after')));
    expect((await wire.answers(1))[0]?.status).toBe(200);
    expect((await w.rows()).map((r) => r.resource)).toEqual(['db:after']);
    wire.socket.destroy();
    await w.server.stop(500);
  });

  it('records questions of clients that do not wait for the response, and releases their connections', async () => {
    const w = await world();
    for (let i = 0; i < 40; i++) {
      const { socket } = await w.open();
      await new Promise((resolve) => socket.write(w.request(question(`db:${i}`)), resolve));
      if (i % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
    await expect.poll(() => connections(w.server)).toBe(0);
    const rows = await w.rows();
    expect(rows.length).toBeLessThanOrEqual(40);
    expect(new Set(rows.map((r) => r.resource)).size).toBe(rows.length);
    const wire = await w.open();
    wire.socket.write(w.request(question('db:after')));
    expect((await wire.answers(1))[0]?.status).toBe(200);
    wire.socket.destroy();
    await w.server.stop(500);
  });

  it('sends a client that has closed its side a complete response, or none', async () => {
    const w = await world();
    for (let i = 0; i < 20; i++) {
      const wire = await w.open();
      wire.socket.end(w.request(question('db:x')));
      const text = await wire.ended;
      if (text !== '') expect(parse(text)).toMatchObject([{ status: 200, body: { allowed: true } }]);
    }
    await expect.poll(() => connections(w.server)).toBe(0);
    expect((await w.rows()).length).toBeLessThanOrEqual(20);
    await w.server.stop(500);
  });

  it('reads no byte beyond the stated length: the rest is the next request, or the end of the connection', async () => {
    const w = await world();
    const body = question('db:first');
    const smuggled = await w.open();
    smuggled.socket.write(
      w.request(`${body}{"action":"read","resource":"db:tail"}`, `content-length: ${body.length}\r\n`),
    );
    // Node responds to a broken connection immediately, possibly before the decision in progress.
    expect(parse(await smuggled.ended).map((a) => a.status)).toContain(400);
    const behind = await w.open();
    behind.socket.write(w.request(body, `content-length: ${body.length}\r\n`) + w.request(question('db:second')));
    expect((await behind.answers(2)).map((a) => a.status)).toEqual([200, 200]);
    await expect
      .poll(async () => (await w.rows()).map((r) => r.resource).sort())
      .toEqual(['db:first', 'db:first', 'db:second']);
    for (const { socket } of [smuggled, behind]) socket.destroy();
    await w.server.stop(500);
  });

  it.each([
    ['two lengths', 'content-length: 5\r\ncontent-length: 33\r\n'],
    ['a length and chunks', 'content-length: 33\r\ntransfer-encoding: chunked\r\n'],
    ['a negative length', 'content-length: -1\r\n'],
    ['no number', 'content-length: abc\r\n'],
    ['a length in hexadecimal', 'content-length: 0x21\r\n'],
  ])('refuses %s and ends the connection', async (_, more) => {
    const w = await world();
    const wire = await w.open();
    wire.socket.write(w.request(question('db:x'), more));
    expect(parse(await wire.ended).map((a) => a.status)).toEqual([400]);
    expect(await w.rows()).toEqual([]);
    wire.socket.destroy();
    await w.server.stop(500);
  });

  it('refuses two Hosts, because proxies and servers disagree on which counts (RFC 9112, section 3.2)', async () => {
    const w = await world();
    const wire = await w.open();
    const body = question('db:x');
    const twice = w.request(body, `content-length: ${body.length}\r\nHOST: x\r\n`);
    wire.socket.write(twice + twice.replace('/authorize', '/authorize?x=1') + w.request(body));
    const codes = (await wire.answers(3)).map((a) => [a.status, a.body.error?.code]);
    const refused = [400, 'VALIDATION_FAILED'];
    expect([codes, (await w.rows()).length]).toEqual([[refused, refused, [200, undefined]], 1]);
    wire.socket.destroy();
    await w.server.stop(500);
  });

  it('limits how long a request may take to arrive, and ends incomplete requests when it stops', async () => {
    const w = await world();
    const { server } = w.server;
    expect([server.headersTimeout, server.requestTimeout]).toEqual([15_000, 60_000]);
    const whole = w.request(question('db:x'));
    const wires = await Promise.all(Array.from({ length: 50 }, () => w.open()));
    wires.forEach(({ socket }, i) => {
      socket.write(whole.slice(0, i % 2 === 0 ? 30 : whole.length - 5));
    });
    await expect.poll(() => connections(w.server)).toBe(50);
    await w.server.stop(300);
    for (const wire of wires) await wire.ended;
    expect(await connections(w.server)).toBe(0);
    expect(await w.rows()).toEqual([]);
    for (const { socket } of wires) socket.destroy();
  });
});
