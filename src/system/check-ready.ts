import { SECOND_MS } from '../lib/clock.ts';
import type { Platform } from '../platform.ts';
import { isSchemaCurrent } from '../storage/index.ts';
import type { Ready } from './schema.ts';

/** A probe that waits longer than this is answered for. */
const PATIENCE_MS = 2 * SECOND_MS;

/** Whether requests can be served: the database answers and its schema is that of this version. Never throws. */
export async function checkReady(platform: Platform): Promise<Ready> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), PATIENCE_MS);
  });
  try {
    const current = await Promise.race([isSchemaCurrent(platform.database), late]);
    if (current === 'late') return unavailable('unreachable', 'unknown');
    return current ? { status: 'ready', checks: { database: 'ok', schema: 'ok' } } : unavailable('ok', 'behind');
  } catch (error) {
    platform.log.warn({ err: error }, 'not ready: the database cannot be asked');
    return unavailable('unreachable', 'unknown');
  } finally {
    clearTimeout(timer);
  }
}

const unavailable = (database: Ready['checks']['database'], schema: Ready['checks']['schema']): Ready => ({ status: 'unavailable', checks: { database, schema } });
