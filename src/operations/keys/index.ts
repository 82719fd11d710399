/**
 * The keys that all instances of an installation share: where they are stored, which key is current, and whether the
 * keys of this instance match the database.
 *
 * Guarantees: with `LEGATE_SECRET`, keys leave the process only encrypted under it; an instance with different keys
 * does not start; a new key is not used for signing or encryption before every instance has read it.
 *
 * The derivation of further keys is in `kernel/encryption.ts`; the file secrets.json is in `kernel/data-folder.ts`.
 */
export { forgetKeys, KeyStore } from './key-store.ts';
