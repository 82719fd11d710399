import { hostname } from 'node:os';
import { sql } from 'kysely';
import { SECOND_MS } from '../kernel/clock.ts';
import { packageVersion } from '../kernel/version.ts';
import { DATABASE_TIME } from '../ledger/index.ts';
import { defineState, type Platform } from '../platform.ts';
import type { Db, InstanceRow } from '../storage/index.ts';

/** An instance that has not renewed its row for this long is gone. Upkeep renews it every five seconds. */
const EXPIRED_MS = 30 * SECOND_MS;

/** The public addresses of other instances for which a warning was logged. */
export const warnedAddresses = defineState(() => new Set<string>());

/**
 * Writes the row of this instance, deletes those of instances that are gone, and compares clocks and public
 * addresses.
 */
export async function renewInstance(platform: Platform): Promise<void> {
  const { instance, ledger, clock, database } = platform;
  const askedAt = clock.now();
  await ledger.maintain(async (db) => {
    const { rows } =
      database.dialect === 'postgres'
        ? await sql<{ time: number }>`select ${sql.raw(DATABASE_TIME)} as time`.execute(db)
        : { rows: [] };
    ledger.time.compare(rows[0]?.time, askedAt);
    const seen_at = now({ clock, ledger });
    await db
      .insertInto('instances')
      .values({
        id: instance.id,
        host: hostname(),
        version: packageVersion(),
        started_at: instance.startedAt,
        seen_at,
        base_url: addressOf(platform),
      })
      .onConflict((oc) => oc.column('id').doUpdateSet({ seen_at }))
      .execute();
    await db
      .deleteFrom('instances')
      .where('seen_at', '<', seen_at - EXPIRED_MS)
      .execute();
  });
  if (instance.serves) await warnOfAddresses(platform);
}

/** The public address; processes that answer no requests have none. */
const addressOf = ({ instance, baseUrl }: Pick<Platform, 'baseUrl' | 'instance'>): string | null =>
  instance.serves ? baseUrl : null;

/** Returns the public addresses of the instances; there should be only one. */
export const addressesOf = (instances: readonly InstanceRow[]): string[] =>
  [...new Set(instances.flatMap(({ base_url }) => base_url ?? []))].sort();

/** Describes the difference, for people who set `LEGATE_BASE_URL`; undefined if there is none. */
export const addressWarning = (addresses: readonly string[]): string | undefined =>
  addresses.length > 1
    ? `Instances on this database have different addresses (${addresses.join(', ')}). Tokens name the address as ` +
      'their issuer, so one instance refuses those of another. Set the same LEGATE_BASE_URL for all.'
    : undefined;

async function warnOfAddresses(platform: Platform): Promise<void> {
  const warned = platform.stateOf(warnedAddresses);
  const addresses = addressesOf(await listInstances(platform));
  const fresh = addresses.filter((address) => address !== platform.baseUrl && !warned.has(address));
  warned.clear();
  for (const address of addresses) warned.add(address);
  if (fresh.length > 0)
    platform.log.warn({ baseUrl: platform.baseUrl, others: fresh }, addressWarning(addresses) ?? '');
}

/** Deletes the row of this instance, which stops. It expires if that fails. */
export async function removeInstance({
  instance,
  ledger,
  log,
}: Pick<Platform, 'instance' | 'ledger' | 'log'>): Promise<void> {
  try {
    await ledger.maintain((db) => db.deleteFrom('instances').where('id', '=', instance.id).execute());
  } catch (error) {
    log.warn({ err: error }, 'the stop of this instance could not be recorded');
  }
}

/** Returns the instances that run on this database, oldest first. This one is always among them. */
export async function listInstances(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'database' | 'instance' | 'ledger'>,
): Promise<readonly InstanceRow[]> {
  const { instance, database } = platform;
  const seenAt = now(platform);
  const rows = await database.read
    .selectFrom('instances')
    .selectAll()
    .where('seen_at', '>=', seenAt - EXPIRED_MS)
    .where('id', '!=', instance.id)
    .execute();
  const own = {
    id: instance.id,
    host: hostname(),
    version: packageVersion(),
    started_at: instance.startedAt,
    seen_at: seenAt,
    base_url: addressOf(platform),
  };
  return [...rows, own].sort((a, b) => a.started_at - b.started_at || (a.id < b.id ? -1 : 1));
}

/**
 * Returns the hosts of the instances that serve a PostgreSQL database, for 30 seconds also of one that was killed.
 */
export async function servingHosts(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('instances')
    .select('host')
    .distinct()
    .where('base_url', 'is not', null)
    .where('seen_at', '>=', sql<number>`${sql.raw(DATABASE_TIME)} - ${EXPIRED_MS}`)
    .orderBy('host')
    .execute();
  return rows.map(({ host }) => host);
}

/** The time on which instances agree even if their clocks differ. */
const now = ({ clock, ledger }: Pick<Platform, 'clock' | 'ledger'>): number => clock.now() - ledger.time.offMs;
