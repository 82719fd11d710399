import { SECOND_MS } from '../kernel/clock.ts';
import { CommonErrors } from '../kernel/errors.ts';
import type { Log } from '../platform.ts';
import { isUnavailable } from '../storage/index.ts';

const OUTAGE_CODES: readonly unknown[] = [CommonErrors.AUDIT_UNAVAILABLE.code, CommonErrors.STORAGE_UNAVAILABLE.code];

/**
 * Returns a log that writes at most one line a second about an outage of the database, which would otherwise cause one
 * for each request. The next line has the number of lines that were left out (`omitted`).
 */
export function limitOutages(log: Log): Log {
  let writtenAt = Number.NEGATIVE_INFINITY;
  let omitted = 0;
  const limited =
    (level: 'warn' | 'error') =>
    (fields: object, message: string): void => {
      const { err, code } = fields as { err?: unknown; code?: unknown };
      if (!OUTAGE_CODES.includes(code) && !isUnavailable(err)) {
        log[level](fields, message);
        return;
      }
      const now = performance.now();
      if (now - writtenAt < SECOND_MS) {
        omitted++;
        return;
      }
      writtenAt = now;
      log[level](omitted > 0 ? { ...fields, omitted } : fields, message);
      omitted = 0;
    };
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: limited('warn'),
    error: limited('error'),
    ...(log.isLevelEnabled ? { isLevelEnabled: (level: string) => log.isLevelEnabled?.(level) ?? true } : {}),
  };
}
