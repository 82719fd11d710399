/** A database that this process cannot use in its present state. The message tells the operator what to do. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
}
