import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/storage/index.ts';
import { legate, scratchFolder, serve, signUp } from '../support/cli.ts';
import type { Running } from '../support/process.ts';

const json = { 'content-type': 'application/json' };

/** Creates an agent with a read permission, over HTTP. */
async function newAgent(running: Running): Promise<string> {
  const { id, token } = await signUp(running.url);
  const headers = { ...json, authorization: `Bearer ${token}` };
  const body = JSON.stringify({
    ownerId: id,
    name: 'reader',
    type: 'autonomous',
    permissions: [{ resource: 'mcp:github:*', actions: ['read'] }],
  });
  return ((await (await fetch(`${running.url}/agents`, { method: 'POST', headers, body })).json()) as { token: string })
    .token;
}

/** Sends only the beginning of a request. */
function halfARequest(running: Running): Promise<void> {
  const { hostname, port } = new URL(running.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  return new Promise((sent) =>
    socket.write(
      'POST /sign-in HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
      () => setTimeout(sent, 100),
    ),
  );
}

describe('SIGTERM', () => {
  it('under load: exits with 0, breaks no response, and every answered decision is recorded', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    const token = await newAgent(running);
    const headers = { ...json, authorization: `Bearer ${token}` };
    const body = JSON.stringify({ action: 'read', resource: 'mcp:github:list_issues' });
    const answered: string[] = [];
    const odd: string[] = [];
    let refused = 0;
    const client = async (): Promise<void> => {
      for (;;) {
        let text: string;
        try {
          const response = await fetch(`${running.url}/authorize`, { method: 'POST', headers, body });
          text = await response.text();
        } catch {
          refused++;
          return;
        }
        const answer = JSON.parse(text) as { allowed?: boolean; auditId?: string };
        if (answer.allowed && answer.auditId) answered.push(answer.auditId);
        else odd.push(text);
      }
    };
    const clients = Array.from({ length: 16 }, client);
    while (answered.length < 200) await new Promise((resolve) => setTimeout(resolve, 5));
    const stoppedAt = performance.now();
    expect(await running.stop()).toBe(0);
    const took = performance.now() - stoppedAt;
    await Promise.all(clients);
    expect(took).toBeLessThan(5000);
    expect(refused).toBe(16);
    expect(odd).toEqual([]);

    const database = await openDatabase(`sqlite:${join(cwd, '.legate/legate.db')}`, { serviceName: 'legate' });
    const rows = await database.read.selectFrom('stream_events').select(['id', 'seq']).orderBy('seq').execute();
    await database.close();
    const recorded = new Set(rows.map((row) => row.id));
    expect(answered.filter((id) => !recorded.has(id))).toEqual([]);
    expect(rows.map((row) => row.seq)).toEqual(rows.map((_, i) => i + 1));
  });

  it('waits for a request no longer than 10 s', async () => {
    const running = await serve({ cwd: scratchFolder() });
    await halfARequest(running);
    const stoppedAt = performance.now();
    expect(await running.stop()).toBe(0);
    expect(performance.now() - stoppedAt).toBeLessThan(10_000);
  });

  it('waits for a request, and then for a mail that is being sent, together no longer than 10 s', async () => {
    // Accepts connections and says nothing.
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const running = await serve({
      cwd: scratchFolder(),
      env: {
        LEGATE_MAIL_URL: `smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`,
        LEGATE_ADMIN_EMAIL: 'ada@example.com',
        LEGATE_ADMIN_PASSWORD: 'correct horse battery staple',
      },
    });
    const connected = once(silent, 'connection');
    await halfARequest(running);
    await fetch(`${running.url}/password/forgot`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"email":"ada@example.com"}',
    });
    await connected;
    const stoppedAt = performance.now();
    expect(await running.stop()).toBe(0);
    expect(performance.now() - stoppedAt).toBeLessThan(10_000);
  });

  it('a second one exits immediately', async () => {
    const running = await serve({ cwd: scratchFolder() });
    await halfARequest(running);
    running.process.kill('SIGTERM');
    await expect.poll(running.output).toContain('stopping');
    // Two signals within 100 ms count as one.
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(running.process.exitCode).toBeNull();
    const stoppedAt = performance.now();
    expect(await running.stop()).toBe(143);
    expect(performance.now() - stoppedAt).toBeLessThan(1000);
  });
});

describe('SIGTERM with shutdown.drainSeconds', () => {
  const draining = async (running: Running): Promise<Response> => {
    for (;;) {
      const ready = await fetch(`${running.url}/health/ready`);
      if (ready.status === 503) return ready;
      await ready.text();
    }
  };

  it('answers requests while it is not ready, and then exits with 0', async () => {
    const running = await serve({ cwd: scratchFolder(), env: { LEGATE_SHUTDOWN_DRAIN_SECONDS: '1' } });
    const stopped = running.stop();
    const ready = await draining(running);
    expect([ready.status, ready.headers.get('retry-after')]).toEqual([503, '1']);
    expect(((await ready.json()) as { checks: object }).checks).toMatchObject({ instance: 'draining' });
    const live = await fetch(`${running.url}/health/live`);
    // A proxy that does not check readiness would open a connection for each request, even while the port closes.
    expect([live.status, live.headers.get('connection')]).toEqual([200, 'keep-alive']);
    expect(running.process.exitCode).toBeNull();
    expect(await stopped).toBe(0);
  });

  it('answers on open connections after its port has closed, and announces that it will close them', async () => {
    const running = await serve({ cwd: scratchFolder(), env: { LEGATE_SHUTDOWN_DRAIN_SECONDS: '1' } });
    const { hostname, port } = new URL(running.url);
    const connectionTo = (): Promise<Socket | undefined> =>
      new Promise((resolve) => {
        const socket = connect(Number(port), hostname);
        socket.once('connect', () => resolve(socket));
        socket.once('error', () => resolve(undefined));
      });
    const kept = [await connectionTo(), await connectionTo()];
    const answers = kept.map(async (socket) => (await socket?.toArray())?.join(''));
    const ask = (socket: Socket | undefined) => socket?.write('GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n');
    // One of the connections has had a request before.
    ask(kept[0]);
    const stopped = running.stop();
    for (let other = await connectionTo(); other; other = await connectionTo()) other.destroy();
    for (const socket of kept) ask(socket);
    const [first, second] = await Promise.all(answers);
    expect(first?.match(/HTTP\/1\.1 \d+|^connection: .*/gim)).toEqual([
      'HTTP/1.1 200',
      'Connection: keep-alive',
      'HTTP/1.1 200',
      'Connection: close',
    ]);
    expect(second?.match(/HTTP\/1\.1 \d+|^connection: .*/gim)).toEqual(['HTTP/1.1 200', 'Connection: close']);
    expect(await stopped).toBe(0);
  });

  it('a second signal ends it immediately', async () => {
    const running = await serve({ cwd: scratchFolder(), env: { LEGATE_SHUTDOWN_DRAIN_SECONDS: '600' } });
    running.process.kill('SIGTERM');
    await draining(running);
    // Two signals within 100 ms count as one.
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect((await fetch(`${running.url}/health/live`)).status).toBe(200);
    expect(await running.stop()).toBe(143);
  });
});

describe('SIGINT', () => {
  it('stops like SIGTERM, also when a terminal and npm both send it', async () => {
    const running = await serve({ cwd: scratchFolder() });
    const exit = new Promise((resolve) => running.process.once('exit', resolve));
    running.process.kill('SIGINT');
    running.process.kill('SIGINT');
    expect(await exit).toBe(0);
  });
});

describe('an unhandled failure', () => {
  it.each([
    ['unhandled rejection', "Promise.reject(new Error('boom'))"],
    ['uncaught exception', "throw new Error('boom')"],
  ])('%s is logged and ends the process with 1', async (name, failure) => {
    // The failure happens as soon as the process serves, however long the start takes.
    const serves = "process.getActiveResourcesInfo().includes('TCPServerWrap')";
    const once = `if(${serves}){clearInterval(timer);${failure}}`;
    const preload = `data:text/javascript,const timer=setInterval(()=>{${once}},20)`;
    const { code, stderr } = await legate(['serve'], { env: { NODE_OPTIONS: `--import="${preload}"`, PORT: '0' } });
    const line = stderr.split('\n').find((l) => l.includes(name)) ?? '{}';
    expect([code, JSON.parse(line)]).toEqual([
      1,
      expect.objectContaining({ level: 'error', msg: name, err: expect.objectContaining({ message: 'boom' }) }),
    ]);
  });
});
