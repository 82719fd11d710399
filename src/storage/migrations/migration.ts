import { type Kysely, sql } from 'kysely';

export interface MigrationContext {
  readonly dialect: 'sqlite' | 'postgres';
  /** Prefix of every table, `legate_`. Letters, digits and underscores, so that it needs no quotes. */
  readonly prefix: string;
}

/** One step of the schema. It runs in a transaction that also records it as applied. */
export interface Migration {
  up(db: Kysely<unknown>): Promise<void>;
}

/** The parts of schema statements that depend on the database: the prefix and the names of the column types. */
export interface SqlNames {
  readonly dialect: MigrationContext['dialect'];
  readonly p: string;
  readonly int: string;
  readonly float: string;
  readonly blob: string;
  /** Text that is compared byte by byte, regardless of the database's collation. */
  readonly textKey: string;
}

export function sqlNames({ dialect, prefix }: MigrationContext): SqlNames {
  const types =
    dialect === 'sqlite'
      ? { int: 'integer', float: 'real', blob: 'blob', textKey: 'text' }
      : { int: 'bigint', float: 'double precision', blob: 'bytea', textKey: 'text collate "C"' };
  return { dialect, p: prefix, ...types };
}

/** Runs constant statements: on PostgreSQL all of them in one round trip. */
export async function runStatements(
  db: Kysely<unknown>,
  dialect: MigrationContext['dialect'],
  statements: readonly string[],
): Promise<void> {
  const queries = dialect === 'sqlite' ? statements : [statements.join(';\n')];
  for (const query of queries) await sql.raw(query).execute(db);
}
