import type { Platform } from '../platform.ts';
import { isSchemaCurrent } from '../storage/index.ts';
import { inTime } from './in-time.ts';
import { ledgerProbe } from './ledger-probe.ts';
import type { Ready } from './schema.ts';

type Checks = Ready['checks'];

const UNKNOWN: Checks = { instance: 'ok', database: 'unknown', schema: 'unknown', ledger: 'unknown', clock: 'unknown' };

/**
 * Checks whether requests can be served: the service is not about to stop, the database answers, its schema is current,
 * decisions can be recorded, and the clock is right. Without Redis the service is degraded: each process then counts
 * rate limits by itself. It is also degraded while the ledger is not sealed. Never throws.
 */
export async function checkReady(platform: Platform): Promise<Ready> {
  if (platform.instance.draining) return { status: 'unavailable', checks: { ...UNKNOWN, instance: 'draining' } };
  const [database, records, redis] = await Promise.all([
    checkDatabase(platform),
    platform.stateOf(ledgerProbe).succeeds(),
    inTime(platform.limits.ping()),
  ]);
  const details = database.database === 'ok' ? await readDetails(platform) : {};
  const checks: Checks = {
    ...UNKNOWN,
    ...database,
    ...(database.database === 'ok' ? checkLedger(platform, records) : {}),
    ...(redis === undefined ? {} : { redis: redis === true ? 'ok' : 'unreachable' }),
    ...details,
  };
  const { redis: _, seal = 'ok', ...needed } = checks;
  const ready = Object.values(needed).every((check) => check === 'ok');
  const degraded = checks.redis === 'unreachable' || seal !== 'ok';
  return { status: !ready ? 'unavailable' : degraded ? 'degraded' : 'ready', checks };
}

/** Returns the checks of the modules. Those that cannot be read in time are left out. */
async function readDetails(platform: Platform): Promise<Pick<Checks, 'seal'>> {
  const found: Pick<Checks, 'seal'> = {};
  for (const { name, check } of platform.readiness) {
    const said = await inTime(check(platform).catch(() => undefined));
    if (said !== undefined && said !== 'late') found[name] = said;
  }
  return found;
}

/** The clock is compared with that of the database under the head row's lock. */
function checkLedger({ ledger }: Pick<Platform, 'ledger'>, records: boolean): Pick<Checks, 'ledger' | 'clock'> {
  if (!ledger.time.isTrusted) return { ledger: 'blocked', clock: 'off' };
  return { ledger: records ? 'ok' : 'blocked', clock: 'ok' };
}

async function checkDatabase(
  platform: Pick<Platform, 'database' | 'log'>,
): Promise<Pick<Checks, 'database' | 'schema'>> {
  try {
    const current = await inTime(isSchemaCurrent(platform.database));
    if (current === 'late') return { database: 'unreachable', schema: 'unknown' };
    return { database: 'ok', schema: current ? 'ok' : 'behind' };
  } catch (error) {
    platform.log.warn({ err: error }, 'not ready: the database does not respond');
    return { database: 'unreachable', schema: 'unknown' };
  }
}
