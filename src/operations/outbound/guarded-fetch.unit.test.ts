import { createServer, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGuardedFetch, GuardedFetchError, type GuardedFetchOptions, type GuardedRequest } from './index.ts';

/** Writes a text again and again until the connection is closed. */
function flood(socket: Socket, text: string): void {
  const chunk = text.repeat(1000);
  const write = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', write).on('error', () => {});
  write();
}

/** Responds to each connection according to the path of its request, and stores the requests. */
const answers: Record<string, (socket: Socket) => void> = {
  '/ok': (s) => void s.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'),
  '/continue': (s) => void s.end('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'),
  '/redirect': (s) =>
    void s.end('HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n'),
  '/two': (s) =>
    void s.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nextra'),
  '/big': (s) => void s.end(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${'x'.repeat(5000)}`),
  '/big-stated': (s) => void s.write('HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n'),
  '/gzip': (s) => void s.end('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}'),
  '/silent': () => {},
  '/short': (s) => void s.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}'),
  '/headers': (s) => void s.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`),
  '/not-http': (s) => void s.end('SSH-2.0-x\r\n'),
  '/upgrade': (s) => void s.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  '/drip': (s) => {
    s.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n');
    const timer = setInterval(() => s.write('x'), 5);
    s.on('close', () => clearInterval(timer));
  },
  '/informational': (s) => flood(s, 'HTTP/1.1 102 Processing\r\n\r\n'),
  '/empty-lines': (s) => flood(s, '\r\n'),
  '/chunk-size': (s) => {
    s.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    flood(s, '0');
  },
  '/drip-headers': (s) => {
    s.write('HTTP/1.1 200 OK\r\nx: ');
    const timer = setInterval(() => s.write('y'), 5);
    s.on('close', () => clearInterval(timer));
  },
};

let server: Server;
let port: number;
const received: string[] = [];
const sockets = new Set<Socket>();
beforeAll(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let head = '';
    socket.on('data', (chunk) => {
      const begun = head.includes('\r\n\r\n');
      head += chunk.toString('latin1');
      if (begun || !head.includes('\r\n\r\n')) return;
      received.push(head);
      answers[(head.split(' ')[1] as string).replace(/\?.*/, '')]?.(socket);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  port = (server.address() as { port: number }).port;
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((done) => server.close(done));
});

const open = (options: GuardedFetchOptions = {}) => createGuardedFetch({ allowPrivateNetworks: true, ...options });
const get = (path: string, request?: GuardedRequest) => open()(`http://127.0.0.1:${port}${path}`, request);
const problemOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => {
      expect(error).toBeInstanceOf(GuardedFetchError);
      return (error as GuardedFetchError).problem;
    },
  );

describe('the address of a connection', () => {
  /** A guarded fetch that reports the addresses it would connect to, without connecting. */
  const guarded = (...answered: string[][]) => {
    const targets: unknown[] = [];
    let asked = 0;
    const fetch = createGuardedFetch({
      resolve: async () => answered[Math.min(asked++, answered.length - 1)] ?? [],
      connect: (target) => {
        targets.push(target);
        throw new Error('not here');
      },
    });
    return { fetch, targets, asked: () => asked };
  };

  it('is one that was checked, even if the name resolves differently later', async () => {
    const { fetch, targets, asked } = guarded(['93.184.216.34'], ['127.0.0.1']);
    expect(await problemOf(fetch('https://rebind.example/x'))).toBe('connection_failed');
    expect(targets).toEqual([{ hostname: 'rebind.example', port: 443, secure: true, addresses: ['93.184.216.34'] }]);
    expect(asked()).toBe(1);
    expect(await problemOf(fetch('https://rebind.example/x'))).toBe('address_refused');
    expect(targets).toHaveLength(1);
  });

  it.each([
    ['one private address', ['10.0.0.1']],
    ['a private address after a public one', ['93.184.216.34', '169.254.169.254']],
    ['an IPv4-mapped loopback', ['::ffff:7f00:1']],
    ['a link-local address', ['fe80::1']],
  ])('is never one for a name with %s', async (_what, addresses) => {
    const { fetch, targets } = guarded(addresses);
    expect(await problemOf(fetch('https://name.example/'))).toBe('address_refused');
    expect(targets).toEqual([]);
  });

  it.each([
    ['https://127.0.0.1/', 'address_refused'],
    ['https://[::1]/', 'address_refused'],
    ['https://[::ffff:127.0.0.1]/', 'address_refused'],
    ['https://2130706433/', 'address_refused'],
    ['https://0x7f000001/', 'address_refused'],
    ['https://0177.0.0.1/', 'address_refused'],
    ['https://127.1/', 'address_refused'],
    ['https://0/', 'address_refused'],
    ['https://①②⑦.⓪.⓪.①/', 'address_refused'],
    ['https://169.254.169.254/latest/meta-data', 'address_refused'],
    ['http://93.184.216.34/', 'url_refused'],
    ['ftp://93.184.216.34/', 'url_refused'],
    ['file:///etc/passwd', 'url_refused'],
    ['data:text/plain,x', 'url_refused'],
    ['https://user:secret@93.184.216.34/', 'url_refused'],
    ['/relative', 'url_refused'],
    ['', 'url_refused'],
  ])('%s is refused: %s', async (url, problem) => {
    const { fetch, targets } = guarded(['93.184.216.34']);
    expect(await problemOf(fetch(url))).toBe(problem);
    expect(targets).toEqual([]);
  });

  it('is missing for a name without addresses, with an error or with hundreds of them: name_not_resolved', async () => {
    for (const resolve of [
      async () => [],
      async () => Promise.reject(new Error('SERVFAIL')),
      async () => Array<string>(100).fill('93.184.216.34'),
    ])
      expect(await problemOf(createGuardedFetch({ resolve })('https://name.example/'))).toBe('name_not_resolved');
  });

  it('has a time limit if the name server never responds', async () => {
    expect(
      await problemOf(
        createGuardedFetch({ resolve: () => new Promise(() => {}) })('https://name.example/', { timeoutMs: 30 }),
      ),
    ).toBe('timeout');
  });

  it('is refused for localhost by the resolver of the system, unless private networks are allowed', async () => {
    expect(await problemOf(createGuardedFetch()('https://localhost/'))).toBe('address_refused');
    expect((await open()(`http://localhost:${port}/ok`)).status).toBe(200);
  });
});

describe('the exchange', () => {
  it('sends the given request, and returns status, headers and body', async () => {
    received.length = 0;
    const response = await open({ resolve: async () => ['127.0.0.1'] })(`http://name.example:${port}/ok?a=1`, {
      method: 'POST',
      headers: { 'x-a': 'b' },
      body: 'hello',
    });
    expect([response.status, response.headers.get('content-type'), Buffer.from(response.body).toString()]).toEqual([
      200,
      'application/json',
      '{}',
    ]);
    const head = (received[0] as string).toLowerCase();
    expect(head.split('\r\n')[0]).toBe('post /ok?a=1 http/1.1');
    for (const line of [
      'x-a: b',
      `host: name.example:${port}`,
      'connection: close',
      'content-length: 5',
      'accept-encoding: identity',
    ])
      expect(head).toContain(`${line}\r\n`);
  });

  it.each([
    ['/continue', 200],
    ['/redirect', 302],
    ['/two', 200],
  ])('%s: the one response is %i', async (path, status) => {
    received.length = 0;
    const response = await get(path);
    expect(response.status).toBe(status);
    expect(Buffer.from(response.body).toString()).toBe(status === 302 ? '' : '{}');
    expect(received).toHaveLength(1);
  });

  it.each([
    ['/big', 'body_too_large'],
    ['/big-stated', 'body_too_large'],
    ['/gzip', 'encoding_refused'],
    ['/short', 'connection_failed'],
    ['/headers', 'response_invalid'],
    ['/not-http', 'response_invalid'],
    ['/upgrade', 'response_invalid'],
    ['/informational', 'response_invalid'],
    ['/empty-lines', 'response_invalid'],
    ['/chunk-size', 'body_too_large'],
  ])('%s: %s', async (path, problem) => {
    expect(await problemOf(get(path, { maxBytes: 1000, timeoutMs: 5000 }))).toBe(problem);
  });

  it.each(['/silent', '/drip', '/drip-headers'])(
    '%s ends at the time limit, and its connection is closed',
    async (path) => {
      expect(await problemOf(get(path, { timeoutMs: 60 }))).toBe('timeout');
      while (sockets.size > 0) await new Promise((resolve) => setImmediate(resolve));
    },
  );

  it('truncates a larger body if requested, whatever its coding', async () => {
    expect((await get('/big', { maxBytes: 1000, overflow: 'cut' })).body).toHaveLength(1000);
    expect((await get('/gzip', { overflow: 'cut' })).status).toBe(200);
  });

  it('connection_failed for a closed port', async () => {
    expect(await problemOf(open()('http://127.0.0.1:1/'))).toBe('connection_failed');
  });

  it('refuses plain text on a TLS port', async () => {
    expect(await problemOf(open()(`https://127.0.0.1:${port}/`, { timeoutMs: 100 }))).toBe('timeout');
    const plain = createServer(
      (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    );
    await new Promise<void>((done) => plain.listen(0, '127.0.0.1', done));
    expect(await problemOf(open()(`https://127.0.0.1:${(plain.address() as { port: number }).port}/`))).toBe(
      'tls_failed',
    );
    plain.close();
  });

  it.each([
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ])('a certificate that is refused (%s): tls_failed', async (code) => {
    const connect = () =>
      new Duplex({ read() {}, write: (_chunk, _encoding, done) => done(Object.assign(new Error('no'), { code })) });
    expect(await problemOf(open({ connect })('https://127.0.0.1/'))).toBe('tls_failed');
  });
});
