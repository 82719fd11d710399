import { configSection } from '../config.ts';
import { flatten } from '../kernel/config.ts';
import type { Command } from './command.ts';
import { readSettings } from './settings.ts';

const MASK = '********';
/** Width of the value column. Longer values move only the rest of their own line. */
const VALUE_COLUMNS = 32;

/** Width at which a list continues on the next line. */
const LIST_COLUMNS = 60;

/** Returns the lines of a list. A value without a comma is one line. */
function folded(text: string): string[] {
  const lines = [''];
  for (const item of text.split(/(?<=,)/)) {
    const line = lines.at(-1) as string;
    if (line === '' || line.length + item.length <= LIST_COLUMNS) lines[lines.length - 1] = line + item;
    else lines.push(item);
  }
  return lines;
}

/** `legate config`: prints every setting, its value and its source. Secrets are masked. */
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
    const shown = (value: unknown): string =>
      value === undefined ? '-' : Array.isArray(value) ? value.join(',') || '-' : String(value);
    const names = Math.max(...rows.map((row) => row.option.length));
    const short = rows.map((row) => shown(row.value)).filter((text) => text.length <= VALUE_COLUMNS);
    const texts = Math.max(...short.map((text) => text.length));
    for (const row of rows) {
      const source = row.source === 'environment' ? row.environment : row.source;
      const lines = folded(shown(row.value));
      const last = lines.length - 1;
      for (const [i, line] of lines.entries()) {
        const name = (i === 0 ? row.option : '').padEnd(names);
        process.stdout.write(i < last ? `${name}  ${line}\n` : `${name}  ${line.padEnd(texts)}  ${source}\n`);
      }
    }
  },
};
