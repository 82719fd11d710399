import { configSection } from '../config.ts';
import { flatten } from '../kernel/config.ts';
import type { Command } from './command.ts';
import { readSettings } from './settings.ts';

const MASK = '********';

/** `legate config`: every value in force and where it is from; secrets are masked. */
export const command: Command<{ json?: boolean }> = {
  options: { json: { type: 'boolean', meaning: 'as JSON' } },
  run: ({ json }) => {
    const { values, sources } = readSettings();
    const rows = flatten(configSection).map(({ path, env, option }) => {
      const value = path.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], values);
      return {
        option: path.join('.'),
        environment: env,
        value: value !== undefined && option.secret ? MASK : value,
        source: sources.get(path.join('.')),
      };
    });
    if (json) return void process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    const width = (texts: string[]): number => Math.max(...texts.map((text) => text.length));
    const shown = (value: unknown): string =>
      value === undefined ? '-' : Array.isArray(value) ? value.join(',') || '-' : String(value);
    const names = width(rows.map((row) => row.option));
    const texts = width(rows.map((row) => shown(row.value)));
    for (const row of rows)
      process.stdout.write(
        `${row.option.padEnd(names)}  ${shown(row.value).padEnd(texts)}  ${row.source === 'environment' ? row.environment : row.source}\n`,
      );
  },
};
