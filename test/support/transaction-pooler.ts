import { connect, createServer, type Socket } from 'node:net';

/** A pooler on a free port. Each transaction of a client may run in another server session. */
export interface TransactionPooler {
  readonly url: string;
  close(): Promise<void>;
}

const READY = 0x5a;
const STARTUP_VERSION = 196_608;

/**
 * One message of the protocol: a type byte, unless it is the first message of a client, then its length and content.
 */
function* takeMessages(state: { rest: Buffer }, typed: boolean): Generator<Buffer> {
  const head = typed ? 1 : 0;
  while (state.rest.length >= head + 4) {
    const length = head + state.rest.readInt32BE(head);
    if (state.rest.length < length) return;
    yield state.rest.subarray(0, length);
    state.rest = state.rest.subarray(length);
  }
}

const message = (type: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
};

const text = (value: string): Buffer => Buffer.from(`${value}\0`);

interface Session {
  readonly socket: Socket;
  client: Socket | undefined;
}

/**
 * Behaves like PgBouncer in transaction mode: refuses the startup parameter `options`, announces its own process id,
 * and assigns server sessions to transactions in turn, so that two transactions of one client run in different
 * sessions.
 */
export async function startTransactionPooler(target: string, sessions = 4): Promise<TransactionPooler> {
  const { hostname, port, username, password, pathname } = new URL(target);
  const open = (): Promise<Session> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      const session: Session = { socket, client: undefined };
      const state = { rest: Buffer.alloc(0) };
      socket.once('error', reject);
      socket.once('connect', () => {
        const content = Buffer.concat([
          text('user'),
          text(username),
          text('database'),
          text(pathname.slice(1)),
          text(''),
        ]);
        const head = Buffer.alloc(8);
        head.writeInt32BE(content.length + 8);
        head.writeInt32BE(STARTUP_VERSION, 4);
        socket.write(Buffer.concat([head, content]));
      });
      socket.on('data', (data: Buffer) => {
        state.rest = Buffer.concat([state.rest, data]);
        for (const each of takeMessages(state, true)) {
          if (each[0] === 0x52 && each.readInt32BE(5) === 3) socket.write(message('p', text(password)));
          session.client?.write(each);
          if (each[0] !== READY) continue;
          if (each.toString('latin1', 5, 6) === 'I') {
            if (session.client) release(session);
            else resolve(session);
          }
        }
      });
    });
  const idle: Session[] = [];
  const waiting: (() => void)[] = [];
  const release = (session: Session): void => {
    session.client = undefined;
    idle.push(session);
    while (idle.length > 0 && waiting.length > 0) waiting.shift()?.();
  };
  for (let i = 0; i < sessions; i++) idle.push(await open());
  const all = [...idle];

  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    const state = { rest: Buffer.alloc(0) };
    let started = false;
    const sessionOf = (): Session | undefined => all.find((session) => session.client === client);
    const flush = (): void => {
      if (state.rest.length === 0) return;
      const held = sessionOf();
      const session = held ?? idle.shift();
      if (!session) return void waiting.push(flush);
      session.client = client;
      session.socket.write(state.rest);
      state.rest = Buffer.alloc(0);
    };
    client.on('data', (data: Buffer) => {
      state.rest = Buffer.concat([state.rest, data]);
      if (started) {
        // A client ends its connection outside of a transaction, so no server session ends.
        if (data[0] === 0x58) client.end();
        else flush();
        return;
      }
      for (const first of takeMessages(state, false)) {
        const parameters = first.toString('utf8', 8).split('\0');
        if (parameters.includes('options')) {
          client.end(
            message(
              'E',
              Buffer.concat([
                text('SFATAL'),
                text('C08P01'),
                text('Munsupported startup parameter: options'),
                text(''),
              ]),
            ),
          );
          return;
        }
        started = true;
        const key = Buffer.alloc(8);
        key.writeInt32BE(1 + Math.floor(Math.random() * 2 ** 30));
        client.write(Buffer.concat([message('R', Buffer.alloc(4)), message('K', key), message('Z', Buffer.from('I'))]));
      }
    });
    client.on('error', () => {});
    client.on('close', () => {
      clients.delete(client);
      // An open transaction ends with its session.
      const session = sessionOf();
      if (session) session.socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as { port: number };
  return {
    url: `postgres://${username}:${password}@127.0.0.1:${own}${pathname}`,
    close: () =>
      new Promise((resolve) => {
        for (const client of clients) client.destroy();
        for (const { socket } of all) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
