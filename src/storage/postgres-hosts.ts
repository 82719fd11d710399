import { DatabaseError } from './database-error.ts';

const ACCEPTED = ['any', 'read-write', 'primary'];

/**
 * The servers in one URL, in the form of libpq: `postgres://u@a:5432,b:5433/db?target_session_attrs=read-write`. One of
 * them is in use, until it fails and another one accepts writes.
 */
export class PostgresHosts {
  /** One URL for each server. */
  readonly urls: readonly string[];
  /** Whether connections to servers that do not accept writes are refused; always true with several servers. */
  readonly writable: boolean;
  /** Hosts and database, without credentials, for messages to the operator. */
  readonly description: string;
  #current = 0;

  /** Throws a DatabaseError for a URL of another form. */
  constructor(url: string) {
    const parts = /^(postgres(?:ql)?:\/\/)(?:([^/?#]*)@)?([^/?#@]*)([^?#]*)(?:\?([^#]*))?$/i.exec(url);
    if (!parts) throw new DatabaseError('LEGATE_DATABASE_URL must be postgres://user:password@host:5432/database.');
    const [, scheme = '', credentials, authority = '', path = '', query = ''] = parts;
    const parameters = new URLSearchParams(query);
    const attributes = parameters.get('target_session_attrs');
    parameters.delete('target_session_attrs');
    if (attributes !== null && !ACCEPTED.includes(attributes))
      throw new DatabaseError(`target_session_attrs in LEGATE_DATABASE_URL must be one of: ${ACCEPTED.join(', ')}.`);
    const rest = `${path}${parameters.size > 0 ? `?${parameters}` : ''}`;
    const hosts = authority.split(',');
    if (hosts.length > 1 && hosts.includes(''))
      throw new DatabaseError('LEGATE_DATABASE_URL has an empty host: separate hosts by single commas.');
    this.urls = hosts.map((host) => `${scheme}${credentials === undefined ? '' : `${credentials}@`}${host}${rest}`);
    if (!this.urls.every((each) => URL.canParse(each)))
      throw new DatabaseError(
        'LEGATE_DATABASE_URL is not valid: a host or port is wrong, or the user or password has characters that must ' +
          'be percent-encoded.',
      );
    this.writable = hosts.length > 1 || attributes === 'read-write' || attributes === 'primary';
    this.description = `${authority || 'local socket'}${path}`;
  }

  get current(): number {
    return this.#current;
  }

  /** Uses this server from now on. */
  use(index: number): void {
    this.#current = index;
  }
}
