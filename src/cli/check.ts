import { findings } from '../operations/index.ts';
import { type Command, EXIT_CONFIG } from './command.ts';
import { readSettings } from './settings.ts';

/** `legate check`: lists what would stop a production start. Exit code 78 if there is anything. */
export const command: Command = {
  run: () => {
    const { refused, warnings } = findings(readSettings(true));
    const list = (title: string, items: readonly string[]): string =>
      items.length > 0 ? `${title}\n${items.map((item) => `  - ${item}`).join('\n')}\n` : '';
    process.stdout.write(
      refused.length > 0
        ? list('Production would refuse to start:', refused)
        : 'Production would start with this configuration.\n',
    );
    process.stdout.write(list('Warnings:', warnings));
    if (refused.length > 0) process.exitCode = EXIT_CONFIG;
  },
};
