/** A database that this process cannot use as it is. The message is for people and names the way out. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
}
