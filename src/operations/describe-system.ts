import { isoTime, SECOND_MS } from '../kernel/clock.ts';
import { SECRET_KEY_KINDS } from '../kernel/data-folder.ts';
import { packageVersion } from '../kernel/version.ts';
import type { Platform } from '../platform.ts';
import { schemaState } from '../storage/index.ts';
import { addressesOf, addressWarning, listInstances } from './instances.ts';
import type { SystemDescription } from './schema.ts';

const KEY_KINDS = [...SECRET_KEY_KINDS, 'ledger'] as const;

/**
 * Describes this installation for administrators. Contains no secret: a secret setting shows only whether it is set.
 */
export async function describeSystem(platform: Platform): Promise<SystemDescription> {
  const { database, clock, settings, instance } = platform;
  const now = clock.now();
  const schema = await schemaState(database);
  const secrets = platform.secrets();
  const instances = await listInstances(platform);
  const warning = addressWarning(addressesOf(instances));
  return {
    version: packageVersion(),
    node: process.version,
    baseUrl: platform.baseUrl,
    production: platform.production,
    time: isoTime(now),
    database: { dialect: database.dialect, migrations: { applied: schema.applied, pending: schema.pending } },
    warnings: warning === undefined ? [] : [warning],
    instances: instances.map(({ id, host, version, base_url, started_at, seen_at }) => ({
      id,
      host,
      version,
      baseUrl: base_url,
      startedAt: isoTime(started_at),
      seenAt: isoTime(seen_at),
      current: id === instance.id,
    })),
    settings: settings().map((setting) => ({ ...setting, value: setting.value ?? null })),
    keys: KEY_KINDS.flatMap((kind) =>
      secrets[kind].map(({ id, createdAt }, i) => ({
        kind,
        id,
        createdAt: isoTime(Date.parse(createdAt)),
        ageSeconds: Math.max(0, Math.floor((now - Date.parse(createdAt)) / SECOND_MS)),
        current: i === 0,
      })),
    ),
  };
}
