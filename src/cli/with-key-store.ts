import { KeyStore } from '../operations/keys/index.ts';
import { openDatabaseOf, type Settings } from './settings.ts';

/** Opens the keys of an installation with LEGATE_SECRET, also while the service runs. */
export async function withKeyStore<T>(settings: Settings, work: (keys: KeyStore) => Promise<T> | T): Promise<T> {
  const { values } = settings;
  const database = await openDatabaseOf(settings);
  try {
    return await work(await KeyStore.open({ ...values, database, now: () => Date.now() }));
  } finally {
    await database.close();
  }
}
