import { recordAddedKey, recordRetiredKeys, rotationState } from '../activity/seal/index.ts';
import { type Command, UsageError } from './command.ts';
import { readSettings, type Settings, useExistingData, withLegate } from './settings.ts';
import { withKeyStore } from './with-key-store.ts';

/** `legate ledger rotate-key`: adds a key of the sealed ledger, and with --finish retires the earlier one. */
export const command: Command<{ finish?: boolean }> = {
  options: { finish: { type: 'boolean', meaning: 'retire the earlier key, so that only the new one signs' } },
  notes: `Adds a key and records ledger.key-added. Restart every instance (without LEGATE_SECRET: with the new
secrets.json); both keys then sign. Publish the new key and the proof of the recorded row, which lets
npx legate verify --follow-keys trust the key. Then run this with --finish, which records
ledger.key-retired and deletes the earlier key, and restart again.`,
  run: async ({ finish = false }) => {
    const settings = readSettings();
    useExistingData(settings);
    const { seal, key } = settings.values.ledger;
    if (seal === 'off') throw new UsageError('The ledger is not sealed: ledger.seal is off.');
    if (key !== undefined) throw new UsageError('The key is set by LEGATE_LEDGER_KEY, so it cannot be rotated here.');
    await (finish ? finishRotation(settings) : beginRotation(settings));
  },
};

async function beginRotation(settings: Settings): Promise<void> {
  const state = await withLegate(settings, ({ platform }) => rotationState(platform));
  if (state === 'recorded')
    throw new UsageError('Two keys already sign. Run npx legate ledger rotate-key --finish to retire the earlier one.');
  if (state === 'none') await withKeyStore(settings, (keys) => keys.addLedgerKey());
  const vkey = await withLegate(settings, ({ platform }) => recordAddedKey(platform));
  process.stdout.write(`${vkey}\nRestart every instance. Both keys then sign.\n`);
}

async function finishRotation(settings: Settings): Promise<void> {
  const retired = await withLegate(settings, async ({ platform }) => {
    const state = await rotationState(platform);
    if (state !== 'recorded')
      throw new UsageError('No rotation has begun. Run npx legate ledger rotate-key without --finish first.');
    return recordRetiredKeys(platform);
  });
  if (retired === undefined)
    throw new UsageError('The newest checkpoint is not signed with the new key. Restart every instance first.');
  await withKeyStore(settings, (keys) => keys.retireLedgerKeys());
  for (const vkey of retired) process.stdout.write(`${vkey} is retired\n`);
  process.stdout.write('Restart every instance. Only the new key then signs.\n');
}
