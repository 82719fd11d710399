/**
 * Codes of PostgreSQL: connection, refused login, unknown database, resources, operator intervention, system error;
 * read-only or idle transaction, serialisation, missing privilege, database that accepts no connections, lock timeout.
 */
const UNAVAILABLE_CODE = /^(08...|28...|3D...|53...|57...|58...|25006|25P03|40001|40P01|42501|55000|55P03)$/;

/** Messages of the drivers for errors that have no code. */
const MESSAGES: readonly RegExp[] = [
  /Connection terminated/i,
  /timeout exceeded when trying to connect/i,
  /Query read timeout/i,
  /Client has encountered a connection error/i,
  /Client was closed/i,
  /database (connection )?is not open/i,
  /statement has been finalized/i,
  /Cannot use a pool after/i,
  /driver has already been destroyed/i,
];

/**
 * Returns true if an error means that the database cannot serve requests now (unreachable, full, read-only, locked,
 * shutting down, refusing the login), rather than that a statement is wrong. The response is then 503, and the next
 * request tries again.
 */
export function isUnavailable(error: unknown): boolean {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const { code, errcode } = at as { code?: unknown; errcode?: unknown };
    if (typeof code === 'string') {
      if (UNAVAILABLE_CODE.test(code)) return true;
      if (/^E(CONN|PIPE|HOST|NET|TIMEDOUT|AI_AGAIN)/.test(code) || code === 'ENOTFOUND') return true;
      if (/^SQLITE_(BUSY|LOCKED|READONLY|IOERR|FULL|CANTOPEN|NOMEM|CORRUPT|NOTADB|PROTOCOL)/.test(code)) return true;
    }
    // node:sqlite reports the extended result code. Its low byte is the primary code.
    if (typeof errcode === 'number' && [5, 6, 7, 8, 10, 11, 13, 14, 15, 26].includes(errcode & 0xff)) return true;
    if (MESSAGES.some((message) => message.test(at.message))) return true;
  }
  return false;
}
