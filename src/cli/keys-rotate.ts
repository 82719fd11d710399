import { rotateKeys, SECRET_KEY_KINDS, type SecretKeyKind } from '../kernel/data-folder.ts';
import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { readSettings, useExistingData } from './settings.ts';

/**
 * `legate keys rotate [kind]`: adds a new key in first position. The service signs and encrypts with it from its next
 * start. Earlier keys still verify and decrypt, so nobody is signed out.
 */
export const command: Command<{ kind?: string }> = {
  argument: { name: 'kind', meaning: `${SECRET_KEY_KINDS.join(', ')}; all by default` },
  run: ({ kind }) => {
    if (kind !== undefined && !SECRET_KEY_KINDS.includes(kind as SecretKeyKind))
      throw new UsageError(`${kind} is not a kind of key. Kinds: ${SECRET_KEY_KINDS.join(', ')}.`, EXIT_USAGE);
    const settings = readSettings();
    useExistingData(settings);
    const kinds = kind === undefined ? SECRET_KEY_KINDS : [kind as SecretKeyKind];
    for (const { kind: rotated, id } of rotateKeys(settings.values.dataDir, kinds))
      process.stdout.write(`${rotated}: new key ${id}\n`);
    process.stdout.write('Restart the service to use them. Copy secrets.json to every instance first.\n');
  },
};
