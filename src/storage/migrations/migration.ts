import { type Kysely, sql } from 'kysely';

export interface MigrationContext {
  readonly dialect: 'sqlite' | 'postgres';
  /** Prefix of every table, `legate_`. Letters, digits and underscores, so that it needs no quotes. */
  readonly prefix: string;
}

/** One step of the schema. Runs in a transaction, which also records that the step was applied. */
export interface Migration {
  up(db: Kysely<unknown>): Promise<void>;
}

/** What the statements of a schema need from their database: the prefix and the names of the column types. */
export interface SqlNames {
  readonly dialect: MigrationContext['dialect'];
  readonly p: string;
  readonly int: string;
  readonly float: string;
  readonly blob: string;
  /** Text that is compared byte by byte, whatever the collation of the database. */
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
