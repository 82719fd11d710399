import { readDataFolder } from '../kernel/data-folder.ts';
import type { Command } from './command.ts';
import { readSettings, useExistingData } from './settings.ts';
import { withKeyStore } from './with-key-store.ts';

/** `legate keys list`: prints kinds, ids and ages of the keys, never the keys themselves. */
export const command: Command<{ json?: boolean }> = {
  options: { json: { type: 'boolean', meaning: 'as JSON' } },
  run: async ({ json }) => {
    const settings = readSettings();
    useExistingData(settings);
    const now = Date.now();
    const { secret, dataDir } = settings.values;
    const secrets =
      secret === undefined ? readDataFolder(dataDir) : await withKeyStore(settings, (keys) => keys.current());
    const rows = Object.entries(secrets).flatMap(([kind, keys]) =>
      keys.map(({ id, createdAt }, i) => ({
        kind,
        id,
        use: i === 0 ? 'current' : 'earlier',
        createdAt,
        ageDays: Math.floor((now - Date.parse(createdAt)) / 86_400_000),
      })),
    );
    if (json) return void process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    for (const { kind, id, use, createdAt, ageDays } of rows)
      process.stdout.write(`${kind.padEnd(8)} ${id}  ${use}  ${createdAt}  ${ageDays} days\n`);
  },
};
