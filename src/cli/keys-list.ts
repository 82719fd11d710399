import { readDataFolder, type Secrets } from '../kernel/data-folder.ts';
import type { Command } from './command.ts';
import { readSettings, useExistingData } from './settings.ts';
import { withKeyStore } from './with-key-store.ts';

/** The keys without their secrets. A key that takes effect within a minute of its creation is `next` until then. */
export const listedKeys = (secrets: Secrets, now: number) =>
  Object.entries(secrets).flatMap(([kind, keys]: [string, Secrets['signing']]) =>
    keys.map(({ id, createdAt }, i) => ({
      kind,
      id,
      use: i === 0 ? 'current' : createdAt > (keys[0]?.createdAt ?? '') ? 'next' : 'earlier',
      createdAt,
      ageDays: Math.floor((now - Date.parse(createdAt)) / 86_400_000),
    })),
  );

/** `legate keys list`: prints kinds, ids and ages of the keys, never the keys themselves. */
export const command: Command<{ json?: boolean }> = {
  options: { json: { type: 'boolean', meaning: 'as JSON' } },
  run: async ({ json }) => {
    const settings = readSettings();
    useExistingData(settings);
    const { secret, dataDir } = settings.values;
    const secrets =
      secret === undefined ? readDataFolder(dataDir) : await withKeyStore(settings, (keys) => keys.current());
    const rows = listedKeys(secrets, Date.now());
    if (json) return void process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    for (const { kind, id, use, createdAt, ageDays } of rows)
      process.stdout.write(`${kind.padEnd(8)} ${id}  ${use.padEnd(7)}  ${createdAt}  ${ageDays} days\n`);
  },
};
