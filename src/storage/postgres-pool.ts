import { DatabaseError } from './database-error.ts';
import type { PostgresClient, PostgresQuery, PostgresRows } from './postgres-client.ts';
import { PostgresHosts } from './postgres-hosts.ts';
import { BEGIN, checkSession, detectSession, type PostgresSession } from './postgres-session.ts';
import { isUnavailable } from './unavailable.ts';

/** A connection outside the pools, for LISTEN. */
export interface PostgresListener {
  query(query: string, values?: unknown[]): Promise<unknown>;
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): void;
  on(event: 'end', listener: () => void): void;
  end(): Promise<void>;
}

export interface PostgresPool {
  readonly ending: boolean;
  readonly totalCount: number;
  connect(): Promise<PostgresClient>;
  query<R>(query: PostgresQuery, values?: unknown[]): Promise<PostgresRows<R>>;
  end(): Promise<void>;
}

export interface PoolOptions {
  readonly readConnections: number;
  readonly writeConnections: number;
  readonly onError?: ((error: Error) => void) | undefined;
  readonly onWarning?: ((message: string) => void) | undefined;
}

/** Separate connections for reads and for decisions and changes, so that many reads cannot delay a decision. */
export interface Pools {
  readonly hosts: PostgresHosts;
  readonly session: PostgresSession;
  readonly reads: PostgresPool;
  readonly writes: PostgresPool;
  /** Opens a connection outside the pools to the server in use. */
  readonly connectListener: () => Promise<PostgresListener>;
  /**
   * Runs the last statement of a transaction and commits, in one round trip. Throws if the transaction was not
   * committed.
   */
  readonly runAndCommit: (client: PostgresClient, last: Exclude<PostgresQuery, string>) => Promise<void>;
  /**
   * Begins a transaction and runs its first statement, in one round trip. Without a pooler the server parses and plans
   * the statement once per connection.
   */
  readonly beginAndRun: <R>(
    client: PostgresClient,
    first: { readonly name: string; readonly text: string },
  ) => Promise<PostgresRows<R>>;
}

/** The result of one of several statements of a query. */
interface Result extends PostgresRows<object> {
  readonly command: string;
}

/** Messages of the protocol, as `pg` sends them. */
interface Messages {
  parse(message: { readonly text: string }): void;
  bind(message: object): void;
  execute(message: object): void;
  sync(): void;
}

/** A part of `pg.Query` that its types do not declare. */
type PreparedQuery = new (...args: unknown[]) => { prepare(connection: Messages): void };

const INT8 = 20;
const NUMERIC = 1700;
const CONNECT_MS = 3000;
const LISTENER_QUERY_MS = 3000;
/** While a connection is in use for longer, new ones test at this interval whether the server still answers. */
const DOUBT_MS = 1000;
/** Message of pg-pool if all connections are in use, as opposed to a server that does not answer. */
const POOL_IS_FULL = 'timeout exceeded when trying to connect';

/**
 * Connects and checks the guarantees of the sessions. Throws a DatabaseError if decisions would not be durable, and the
 * error of `pg` if no server can be reached.
 */
export async function openPools(url: string, options: PoolOptions): Promise<Pools> {
  const { default: pg } = await import('pg');
  const hosts = new PostgresHosts(url);
  let session: PostgresSession | undefined;

  class HostClient extends pg.Client {
    readonly hostIndex: number;
    constructor(config: object, hostIndex = hosts.current) {
      super({ ...config, connectionString: hosts.urls[hostIndex] });
      this.hostIndex = hostIndex;
    }
  }

  /** Connections of both pools. */
  const connected = new Set<HostClient>();

  /** Connects to a server and runs `work`. Throws if it does not answer. */
  async function withServer(hostIndex: number, work?: (client: PostgresClient) => Promise<void>): Promise<void> {
    const timeouts = { connectionTimeoutMillis: CONNECT_MS, query_timeout: CONNECT_MS };
    const client = new HostClient({ ...timeouts, application_name: 'legate' }, hostIndex);
    client.on('error', () => {});
    try {
      await client.connect();
      await work?.(client as unknown as PostgresClient);
    } finally {
      // Not awaited: the server may fall silent now.
      void client.end().catch(() => {});
    }
  }

  let switching: Promise<boolean> | undefined;

  /**
   * Switches to another server that accepts writes, if there is one, and closes all connections to the failed one.
   * Returns whether the failed server is no longer used. Without another one, connections that are slow but work stay.
   */
  function leave(failed: number): Promise<boolean> {
    if (hosts.current !== failed) return Promise.resolve(true);
    switching ??= switchFrom(failed).finally(() => {
      switching = undefined;
    });
    return switching;
  }

  async function switchFrom(failed: number): Promise<boolean> {
    const others = hosts.urls.map((_, index) => index).filter((index) => index !== failed);
    try {
      hosts.use(await Promise.any(others.map((index) => withServer(index, assertWritable).then(() => index))));
    } catch {
      return false;
    }
    for (const client of connected) if (client.hostIndex === failed) client.connection.stream.destroy();
    return true;
  }

  let testing = false;

  /** Leaves the server in use if it does not answer. */
  async function testServer(): Promise<void> {
    if (testing) return;
    testing = true;
    const index = hosts.current;
    try {
      await withServer(index);
    } catch (error) {
      // A refusal is an answer.
      if (!(error instanceof pg.DatabaseError)) await leave(index);
    } finally {
      testing = false;
    }
  }

  /** Tests the server while the connection is in use for long. */
  function watched(client: PostgresClient): PostgresClient {
    const release = client.release;
    const timer = setInterval(() => void testServer(), DOUBT_MS).unref();
    client.release = (error) => {
      clearInterval(timer);
      release(error);
    };
    return client;
  }

  /** A pool that uses another server when the current one fails. */
  class HostPool extends pg.Pool {
    // biome-ignore lint/suspicious/noExplicitAny: the overloads of pg-pool, one of which takes a callback.
    override connect(done?: any): any {
      const connecting = this.#connectToAny();
      if (!done) return connecting;
      connecting.then(
        (client) => done(undefined, client, client.release),
        (error: unknown) => done(error),
      );
    }

    async #connectToAny(): Promise<PostgresClient> {
      for (let tries = 1; ; ) {
        const host = hosts.current;
        try {
          const client = (await super.connect()) as unknown as PostgresClient & HostClient;
          if (client.hostIndex === hosts.current) return watched(client);
          client.release(true);
        } catch (error) {
          const full = error instanceof Error && error.message === POOL_IS_FULL;
          if (full || tries++ >= hosts.urls.length || !isUnavailable(error) || !(await leave(host))) throw error;
        }
      }
    }
  }

  const open = (max: number): PostgresPool => {
    const config = {
      Client: HostClient as unknown as new () => InstanceType<typeof pg.Client>,
      max,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: 30_000,
      application_name: 'legate',
      keepAlive: true,
      keepAliveInitialDelayMillis: 5000,
      onConnect: async (client: unknown) => {
        const connected = client as PostgresClient;
        if (session?.connect) await connected.query(session.connect);
        if (hosts.writable) await assertWritable(connected);
      },
      types: {
        getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
          oid === INT8 || oid === NUMERIC
            ? Number
            : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
      },
    };
    const pool = hosts.urls.length > 1 ? new HostPool(config) : new pg.Pool(config);
    // The pool replaces a broken connection, idle or in use, and its query fails. Without listeners the error would end
    // the process.
    pool.on('error', (error) => options.onError?.(error));
    pool.on('connect', (client) => {
      client.on('error', () => {});
      connected.add(client as unknown as HostClient);
    });
    pool.on('remove', (client) => connected.delete(client as unknown as HostClient));
    return pool as unknown as PostgresPool;
  };

  class BeginningQuery extends (pg.Query as unknown as PreparedQuery) {
    /** Called by `pg` to send the statement. After an error of `begin` the server skips it. */
    override prepare(connection: Messages): void {
      connection.parse({ text: BEGIN });
      connection.bind({});
      connection.execute({});
      super.prepare(connection);
    }
  }

  class CommittingQuery extends pg.Query {
    /** Called by `pg` after it has sent the statement and its values. After an error the server skips the commit. */
    _getRows(connection: Messages): void {
      connection.execute({});
      connection.parse({ text: 'commit' });
      connection.bind({});
      connection.execute({});
      connection.sync();
    }
  }

  const submit = async (client: PostgresClient, Query: object, statement: object): Promise<Result[]> => {
    const results = await new Promise<unknown>((resolve, reject) => {
      const done = (error: Error | null, all: unknown): void => (error ? reject(error) : resolve(all));
      const query: unknown = new (Query as new (...args: unknown[]) => object)(statement, undefined, done);
      void client.query(query as PostgresQuery);
    });
    return Array.isArray(results) ? results : [];
  };

  const runAndCommit: Pools['runAndCommit'] = async (client, last) => {
    const results = await submit(client, CommittingQuery, last);
    if (results.at(-1)?.command !== 'COMMIT') throw new Error('The transaction was not committed.');
  };

  const beginAndRun: Pools['beginAndRun'] = async <R>(
    client: PostgresClient,
    first: { name: string; text: string },
  ) => {
    const results = session?.direct
      ? await submit(client, BeginningQuery, first)
      : ((await client.query(`${session?.begin}; ${first.text}`)) as unknown as Result[]);
    const result = results.at(-1);
    if (!result) throw new Error('The transaction was not begun.');
    return result as unknown as PostgresRows<R>;
  };

  const writes = open(options.writeConnections);
  try {
    const client = await writes.connect();
    try {
      session = await detectSession(client);
      if (session.connect) await client.query(session.connect);
      const warning = await checkSession(client, session);
      if (warning !== undefined) options.onWarning?.(warning);
    } finally {
      client.release();
    }
  } catch (error) {
    await writes.end();
    throw error;
  }
  const connectListener = async (): Promise<PostgresListener> => {
    const client = new HostClient({
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: LISTENER_QUERY_MS,
      application_name: 'legate-listener',
      keepAlive: true,
    });
    client.on('error', () => {});
    await client.connect();
    return client as unknown as PostgresListener;
  };
  return { hosts, session, writes, reads: open(options.readConnections), connectListener, runAndCommit, beginAndRun };
}

/** Refuses a standby, because every write to it would fail. */
async function assertWritable(client: PostgresClient): Promise<void> {
  const { rows } = await client.query<{ transaction_read_only: string }>('show transaction_read_only');
  if (rows[0]?.transaction_read_only === 'off') return;
  throw Object.assign(new DatabaseError('The PostgreSQL server accepts no writes.'), { code: '25006' });
}
