import { findings } from '../operations/index.ts';
import { type Command, EXIT_CONFIG } from './command.ts';
import { readSettings } from './settings.ts';

/** `legate check`: what production would refuse, without starting. Exit code 78 when there is anything. */
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
    process.stdout.write(list('Worth a look:', warnings));
    if (refused.length > 0) process.exitCode = EXIT_CONFIG;
  },
};
