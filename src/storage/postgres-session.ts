import { DatabaseError } from './database-error.ts';
import type { PostgresClient, PostgresRows } from './postgres-client.ts';

/** A stuck session elsewhere causes a 503 after this time, instead of blocking every decision silently. */
const LOCK_MS = 3000;
/**
 * PostgreSQL ends a transaction whose client has been silent for this long, so an instance that freezes while it holds
 * the head row delays the others no longer than this.
 */
const IDLE_MS = 5000;
/** Time that sent data may remain unacknowledged. Without it, a lost machine would keep its locks for two hours. */
const LOST_MS = 5000;

/** `remote_apply` is stronger than `on`, so it is not replaced. */
const SYNCHRONOUS = "case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end";

const settings = (local: boolean): string =>
  `select set_config('synchronous_commit', ${SYNCHRONOUS}, ${local}),
    set_config('lock_timeout', '${LOCK_MS}', ${local}),
    set_config('idle_in_transaction_session_timeout', '${IDLE_MS}', ${local})`;

export const BEGIN = 'begin isolation level read committed';

/**
 * Settings that every session and transaction needs. They are set by statements, so that options in the URL, of the
 * role or of a pooler cannot override them.
 */
export interface PostgresSession {
  /** Begins a transaction. One simple query, which may be followed by further statements. */
  readonly begin: string;
  /** Runs on each new connection. */
  readonly connect: string | undefined;
  /**
   * Whether a connection keeps its server session between transactions. With a pooler it may not, so settings are made
   * in each transaction, and statements are not named.
   */
  readonly direct: boolean;
}

const DIRECT: PostgresSession = {
  direct: true,
  begin: BEGIN,
  connect: `${settings(false)}; set tcp_user_timeout = ${LOST_MS}; set tcp_keepalives_idle = 5;
    set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3`,
};
const POOLED: PostgresSession = { direct: false, begin: `${BEGIN}; ${settings(true)}`, connect: undefined };

/**
 * Returns whether the client is connected to PostgreSQL itself, by comparing process ids. A pooler announces an id of
 * its own.
 */
export async function detectSession(client: PostgresClient): Promise<PostgresSession> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid === client.processID ? DIRECT : POOLED;
}

interface Effective {
  readonly synchronous_commit: string;
  readonly lock_timeout: string;
  readonly idle_timeout: string;
  readonly fsync: string;
}

/**
 * Reads the settings that a transaction has in effect. Throws a DatabaseError if commits would not be durable or a
 * frozen client could hold a lock forever. Returns a warning about the server, if there is one.
 */
export async function checkSession(client: PostgresClient, session: PostgresSession): Promise<string | undefined> {
  const results = (await client.query(
    `${session.begin}; select current_setting('synchronous_commit') as synchronous_commit,
      current_setting('lock_timeout') as lock_timeout, current_setting('fsync') as fsync,
      current_setting('idle_in_transaction_session_timeout') as idle_timeout; rollback`,
  )) as unknown as PostgresRows<Effective>[];
  const effective = results.at(-2)?.rows[0];
  if (!effective || !['on', 'remote_apply'].includes(effective.synchronous_commit))
    throw new DatabaseError(
      `synchronous_commit is ${effective?.synchronous_commit ?? 'unknown'} in transactions of this database and ` +
        'cannot be switched on, so answered decisions could be lost. Let the server or the pooler in front of it ' +
        'accept the setting.',
    );
  for (const name of ['lock_timeout', 'idle_timeout'] as const)
    if (/^0/.test(effective[name]))
      throw new DatabaseError(
        `${name === 'idle_timeout' ? 'idle_in_transaction_session_timeout' : name} cannot be set in transactions of ` +
          'this database: one frozen instance would stop all others. Let the server or the pooler accept the setting.',
      );
  return effective.fsync === 'off'
    ? 'fsync is off at the PostgreSQL server: answered decisions are lost when its machine loses power'
    : undefined;
}
