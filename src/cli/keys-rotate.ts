import { rotateKeys, SECRET_KEY_KINDS, type SecretKeyKind } from '../kernel/data-folder.ts';
import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { readSettings, useExistingData } from './settings.ts';
import { withKeyStore } from './with-key-store.ts';

/**
 * `legate keys rotate [kind]`: adds a new key in first position. The service signs and encrypts with it from its next
 * start; with LEGATE_SECRET, after a minute, on every instance. Earlier keys still verify and decrypt, so nobody is
 * signed out.
 */
export const command: Command<{ kind?: string }> = {
  argument: { name: 'kind', meaning: `${SECRET_KEY_KINDS.join(', ')}; all by default` },
  run: async ({ kind }) => {
    if (kind !== undefined && !SECRET_KEY_KINDS.includes(kind as SecretKeyKind))
      throw new UsageError(`${kind} is not a kind of key. Kinds: ${SECRET_KEY_KINDS.join(', ')}.`, EXIT_USAGE);
    const settings = readSettings();
    useExistingData(settings);
    const kinds = kind === undefined ? SECRET_KEY_KINDS : [kind as SecretKeyKind];
    const { secret, dataDir } = settings.values;
    const added =
      secret === undefined ? rotateKeys(dataDir, kinds) : await withKeyStore(settings, (keys) => keys.rotate(kinds));
    for (const { kind: rotated, id } of added) process.stdout.write(`${rotated}: new key ${id}\n`);
    process.stdout.write(`${nextStep(settings.values)}\n`);
  },
};

/** What the operator does after the rotation. */
export function nextStep({
  secret,
  secretPrevious,
}: {
  secret?: string | undefined;
  secretPrevious?: string | undefined;
}): string {
  if (secret === undefined) return 'Restart the service to use them. Copy secrets.json to every instance first.';
  const used = 'Every instance uses them within about a minute.';
  return secretPrevious === undefined ? used : `${used} LEGATE_SECRET_PREVIOUS is no longer needed.`;
}
