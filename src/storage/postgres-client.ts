/**
 * The part of `pg` that this project uses. Declared here because the types of `pg` are a separate package (@types/pg),
 * which an application that type-checks its dependencies would have to install.
 */
export interface PostgresRows<R> {
  readonly rows: R[];
  readonly rowCount: number | null;
}

export type PostgresQuery =
  | string
  | { readonly text: string; readonly values?: unknown[]; readonly name?: string; readonly rowMode?: 'array' };

export interface PostgresClient {
  /** Process id of the server session, as the server or a pooler announced it. */
  readonly processID?: number | null;
  query<R>(query: PostgresQuery, values?: unknown[]): Promise<PostgresRows<R>>;
  /** Returns the connection to the pool; with an error, or true, the connection is closed instead. */
  release(error?: Error | boolean): void;
}
