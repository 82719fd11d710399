import { findings } from '../operations/index.ts';
import { type Command, EXIT_CONFIG, EXIT_USAGE, UsageError } from './command.ts';
import { checkAddress } from './outside/check-address.ts';
import { readSettings } from './settings.ts';

interface Values {
  url?: string;
}

const list = (title: string, items: readonly string[]): string =>
  items.length > 0 ? `${title}\n${items.map((item) => `  - ${item}`).join('\n')}\n` : '';

/**
 * `legate check`: lists what would stop a production start. Exit code 78 if there is anything. With `--url`, checks a
 * running deployment from outside instead; exit code 1 if there is a problem.
 */
export const command: Command<Values> = {
  options: {
    url: { type: 'string', value: 'address', meaning: 'check a running deployment at its public address instead' },
  },
  run: ({ url }) => (url === undefined ? checkConfiguration() : checkFromOutside(url)),
};

function checkConfiguration(): void {
  const { refused, warnings } = findings(readSettings(true));
  process.stdout.write(
    refused.length > 0
      ? list('Production would refuse to start:', refused)
      : 'Production would start with this configuration.\n',
  );
  process.stdout.write(list('Warnings:', warnings));
  if (refused.length > 0) process.exitCode = EXIT_CONFIG;
}

async function checkFromOutside(url: string): Promise<void> {
  if (!URL.canParse(url) || !/^https?:\/\//.test(url))
    throw new UsageError('--url needs the public address, such as https://legate.example.com', EXIT_USAGE);
  const found = await checkAddress(new URL(url));
  const width = Math.max(...found.map(({ area }) => area.length));
  for (const { area, level, text } of found)
    process.stdout.write(`${level.padEnd(7)}  ${area.padEnd(width)}  ${text}\n`);
  const problems = found.filter(({ level }) => level === 'problem').length;
  if (problems > 0) throw new UsageError(problems === 1 ? '1 problem' : `${problems} problems`);
}
