import type { Platform } from '../platform.ts';
import { isSchemaCurrent } from '../storage/index.ts';
import { inTime } from './in-time.ts';
import { ledgerProbe } from './ledger-probe.ts';
import type { Ready } from './schema.ts';

type Checks = Ready['checks'];

const UNKNOWN: Checks = { instance: 'ok', database: 'unknown', schema: 'unknown', ledger: 'unknown', clock: 'unknown' };

/**
 * Checks whether requests can be served: the service is not about to stop, the database answers, its schema is current,
 * decisions can be recorded, and the clock is right. Without Redis the service is degraded: each process counts rate
 * limits by itself. Never throws.
 */
export async function checkReady(platform: Platform): Promise<Ready> {
  if (platform.instance.draining) return { status: 'unavailable', checks: { ...UNKNOWN, instance: 'draining' } };
  const [database, records, redis] = await Promise.all([
    checkDatabase(platform),
    platform.stateOf(ledgerProbe).succeeds(),
    inTime(platform.limits.ping()),
  ]);
  const checks: Checks = {
    ...UNKNOWN,
    ...database,
    ...(database.database === 'ok' ? checkLedger(platform, records) : {}),
    ...(redis === undefined ? {} : { redis: redis === true ? 'ok' : 'unreachable' }),
  };
  const { redis: _, ...needed } = checks;
  const ready = Object.values(needed).every((check) => check === 'ok');
  return { status: !ready ? 'unavailable' : checks.redis === 'unreachable' ? 'degraded' : 'ready', checks };
}

/** The clock is compared with that of the database under the head row's lock. */
function checkLedger({ ledger }: Platform, records: boolean): Pick<Checks, 'ledger' | 'clock'> {
  if (!ledger.time.isTrusted) return { ledger: 'blocked', clock: 'off' };
  return { ledger: records ? 'ok' : 'blocked', clock: 'ok' };
}

async function checkDatabase(platform: Platform): Promise<Pick<Checks, 'database' | 'schema'>> {
  try {
    const current = await inTime(isSchemaCurrent(platform.database));
    if (current === 'late') return { database: 'unreachable', schema: 'unknown' };
    return { database: 'ok', schema: current ? 'ok' : 'behind' };
  } catch (error) {
    platform.log.warn({ err: error }, 'not ready: the database does not answer');
    return { database: 'unreachable', schema: 'unknown' };
  }
}
