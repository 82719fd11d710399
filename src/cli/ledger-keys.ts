import { type Command, UsageError } from './command.ts';
import { readSettings, useExistingData, withLegate } from './settings.ts';

/** `legate ledger keys`: prints the verifier keys, which auditors need, one a line and the newest first. */
export const command: Command = {
  run: async () => {
    const settings = readSettings();
    useExistingData(settings);
    if (settings.values.ledger.seal === 'off') throw new UsageError('The ledger is not sealed: ledger.seal is off.');
    const { keys } = await withLegate(settings, ({ ledger }) => ledger.keys());
    for (const key of keys) process.stdout.write(`${key}\n`);
  },
};
