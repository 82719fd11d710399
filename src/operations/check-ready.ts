import { SECOND_MS } from '../kernel/clock.ts';
import type { Platform } from '../platform.ts';
import { isSchemaCurrent } from '../storage/index.ts';
import type { Ready } from './schema.ts';

/** Time limit of a probe. */
const TIMEOUT_MS = 2 * SECOND_MS;

/**
 * Checks whether requests can be served: the database answers, its schema is current, and Redis answers if it is used.
 * Never throws.
 */
export async function checkReady(platform: Platform): Promise<Ready> {
  const [database, redis] = await Promise.all([checkDatabase(platform), inTime(platform.limits.ping())]);
  const checks: Ready['checks'] = {
    ...database,
    ...(redis === undefined ? {} : { redis: redis === true ? 'ok' : 'unreachable' }),
  };
  const ready = checks.database === 'ok' && checks.schema === 'ok' && checks.redis !== 'unreachable';
  return { status: ready ? 'ready' : 'unavailable', checks };
}

async function checkDatabase(platform: Platform): Promise<Pick<Ready['checks'], 'database' | 'schema'>> {
  try {
    const current = await inTime(isSchemaCurrent(platform.database));
    if (current === 'late') return { database: 'unreachable', schema: 'unknown' };
    return { database: 'ok', schema: current ? 'ok' : 'behind' };
  } catch (error) {
    platform.log.warn({ err: error }, 'not ready: the database does not answer');
    return { database: 'unreachable', schema: 'unknown' };
  }
}

async function inTime<T>(answer: Promise<T>): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), TIMEOUT_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
