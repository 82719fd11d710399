/**
 * The keys that all instances of an installation share: where they are, which of them is current, and whether those of
 * this instance fit the database.
 *
 * Guarantees: with `LEGATE_SECRET`, keys leave the process only sealed under it; an instance with other keys than the
 * rest does not start; a new key makes nothing before every instance can verify with it.
 *
 * What is derived from the keys is in `kernel/encryption.ts`; the file secrets.json is in `kernel/data-folder.ts`.
 */
export { forgetKeys, KeyStore } from './key-store.ts';
