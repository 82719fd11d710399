import { createHash, hkdfSync } from 'node:crypto';
import { ConfigError } from '../../kernel/config.ts';
import {
  addLedgerKey,
  hasSecretsFile,
  newKey,
  openDataFolder,
  readDataFolder,
  replaceLedgerKeys,
  SECRET_KEY_KINDS,
  type SecretKeyKind,
  type Secrets,
} from '../../kernel/data-folder.ts';
import { type Encrypted, type SealKey, seal, unseal } from '../../kernel/encryption.ts';
import { bytesOfSecret } from '../../kernel/root-secret.ts';
import type { Database, Db, InstallationKeyRow } from '../../storage/index.ts';

const PURPOSE = 'installation keys';
/** Marks the fingerprint of a key that is in secrets.json. */
const IN_FILE = 'file:';
/** Time after which every instance has read a new key. Until then the key is used only to verify and decrypt. */
const TAKES_EFFECT_MS = 60_000;

type Key = Secrets['signing'][number];
type StoredKind = keyof Secrets;
interface StoredKey {
  readonly kind: StoredKind;
  readonly key: Key;
}

const STORED_KINDS: readonly StoredKind[] = [...SECRET_KEY_KINDS, 'ledger'];
const keysIn = (secrets: Secrets): StoredKey[] =>
  STORED_KINDS.flatMap((kind) => secrets[kind].map((key) => ({ kind, key })));

export interface KeyStoreOptions {
  readonly database: Database;
  readonly dataDir: string;
  /** `LEGATE_SECRET` and `LEGATE_SECRET_PREVIOUS`, if they are set. */
  readonly secret: string | undefined;
  readonly secretPrevious: string | undefined;
  readonly now: () => number;
}

/** The key that seals the others. Its id is the fingerprint of the secret, which each sealed text begins with. */
function rootKey(secret: string): SealKey {
  const bytes = bytesOfSecret(secret) as Buffer;
  const id = Buffer.from(hkdfSync('sha256', bytes, '', 'legate fingerprint', 9)).toString('base64url');
  return { id, key: bytes.toString('base64url') };
}

const fingerprint = (key: Key): string =>
  `${IN_FILE}${createHash('sha256').update(`legate ${key.key}`).digest('base64url')}`;

const refusal = (problem: string): ConfigError =>
  new ConfigError([problem], 'Legate does not start, because its keys do not match the database:');

/**
 * The keys that all instances of an installation share. With `LEGATE_SECRET` they are in the database, sealed under it;
 * otherwise in secrets.json, and on PostgreSQL the database has their fingerprints, so that an instance with different
 * keys does not start.
 */
export class KeyStore {
  readonly #o: KeyStoreOptions;
  #keys: readonly StoredKey[] = [];
  #current: Secrets | undefined;

  private constructor(options: KeyStoreOptions) {
    this.#o = options;
  }

  /**
   * Reads the keys, and creates them at the first start. Throws a ConfigError if the keys of this instance do not
   * match.
   */
  static async open(options: KeyStoreOptions): Promise<KeyStore> {
    const store = new KeyStore(options);
    if (options.secret !== undefined) await store.#openSealed();
    else await store.#openFile();
    return store;
  }

  /** The newest key of each kind comes first. The result is the same object until a key takes effect. */
  current(): Secrets {
    if (this.#o.secret === undefined) return (this.#current ??= openDataFolder(this.#o.dataDir));
    const secrets = this.#inOrder();
    const ids = (all: Secrets): string =>
      keysIn(all)
        .map(({ key }) => key.id)
        .join();
    if (!this.#current || ids(this.#current) !== ids(secrets)) this.#current = secrets;
    return this.#current;
  }

  /** Reads which keys were added or deleted since, with `LEGATE_SECRET`. */
  async reload(): Promise<void> {
    if (this.#o.secret === undefined) return;
    const rows = await readRows(this.#o.database.read);
    const known = new Set(this.#keys.map(({ key }) => key.id));
    if (rows.length !== known.size || rows.some(({ id }) => !known.has(id))) this.#keys = this.#unsealAll(rows);
  }

  /**
   * Adds a key of each kind, which takes effect after a minute, and seals all of them under `LEGATE_SECRET`, also those
   * that are sealed under `LEGATE_SECRET_PREVIOUS`.
   */
  async rotate(kinds: readonly SecretKeyKind[]): Promise<{ kind: SecretKeyKind; id: string }[]> {
    const added = kinds.map((kind) => ({ kind, key: this.#newKey() }));
    await locked(this.#o.database, async (db) => {
      const keys = this.#unsealAll(await readRows(db));
      await db.deleteFrom('installation_keys').execute();
      await this.#insert(db, [...keys, ...added]);
    });
    await this.reload();
    return added.map(({ kind, key }) => ({ kind, id: key.id }));
  }

  /** Returns the seeds of the sealed ledger's keys, newest first. Creates the first one. */
  async ledgerKeys(): Promise<readonly Key[]> {
    await this.reload();
    const { ledger } = this.current();
    if (ledger.length > 0) return ledger;
    const { database, dataDir, secret } = this.#o;
    await locked(database, async (db) => {
      const key = this.#newKey();
      if (secret !== undefined) {
        if (!(await readRows(db)).some(({ kind }) => kind === 'ledger'))
          await this.#insert(db, [{ kind: 'ledger', key }]);
        return;
      }
      addLedgerKey(dataDir, key);
      this.#current = undefined;
      if (database.dialect === 'sqlite') return;
      for (const each of this.current().ledger) await insertFingerprint(db, { kind: 'ledger', key: each });
    });
    await this.reload();
    return this.current().ledger;
  }

  /** Adds a key of the sealed ledger, which signs together with the earlier ones from the next start of an instance. */
  async addLedgerKey(): Promise<void> {
    await this.ledgerKeys();
    await this.#changeLedgerKeys((keys) => [this.#newKey(), ...keys]);
  }

  /** Deletes all keys of the sealed ledger but the newest. */
  retireLedgerKeys(): Promise<void> {
    return this.#changeLedgerKeys(([newest]) => (newest ? [newest] : []));
  }

  async #changeLedgerKeys(change: (keys: readonly Key[]) => Key[]): Promise<void> {
    const { database, dataDir, secret } = this.#o;
    await locked(database, async (db) => {
      this.#current = undefined;
      if (secret !== undefined) this.#keys = this.#unsealAll(await readRows(db));
      const before = this.current().ledger;
      const after = change(before);
      const added = after.filter((key) => !before.includes(key)).map((key) => ({ kind: 'ledger' as const, key }));
      const deleted = before.filter((key) => !after.includes(key)).map(({ id }) => id);
      if (deleted.length > 0) await db.deleteFrom('installation_keys').where('id', 'in', deleted).execute();
      if (secret !== undefined) {
        if (added.length > 0) await this.#insert(db, added);
        return;
      }
      replaceLedgerKeys(dataDir, after);
      this.#current = undefined;
      if (database.dialect === 'postgres') for (const stored of added) await insertFingerprint(db, stored);
    });
    await this.reload();
  }

  async #openSealed(): Promise<void> {
    const { database } = this.#o;
    let rows = await readRows(database.read);
    if (rows.length === 0 || rows.some(isFingerprint)) {
      await locked(database, async (db) => {
        const found = await readRows(db);
        if (found.length > 0 && !found.some(isFingerprint)) return;
        const keys = this.#firstKeys(found);
        await db.deleteFrom('installation_keys').execute();
        await this.#insert(db, keys);
      });
      rows = await readRows(database.read);
    }
    this.#keys = this.#unsealAll(rows);
  }

  /** Imports the keys of secrets.json into the database, or creates new ones. */
  #firstKeys(found: readonly InstallationKeyRow[]): StoredKey[] {
    const { dataDir } = this.#o;
    if (!hasSecretsFile(dataDir)) {
      if (found.length > 0)
        throw refusal(
          'The database was used with a secrets.json that is not in LEGATE_DATA_DIR. Start one instance with that ' +
            'file and LEGATE_SECRET, which moves its keys into the database; or, if it is lost, run npx legate ' +
            'keys forget.',
        );
      return SECRET_KEY_KINDS.map((kind) => ({ kind, key: this.#newKey() }));
    }
    const secrets = readDataFolder(dataDir);
    assertFits(secrets, found);
    return keysIn(secrets);
  }

  async #openFile(): Promise<void> {
    const { database } = this.#o;
    const rows = await readRows(database.read);
    if (rows.some((row) => !isFingerprint(row)))
      throw refusal(
        'The keys in the database are sealed under a LEGATE_SECRET, which is not set. Set the one of the other ' +
          'instances; or, if it is lost, run npx legate keys forget.',
      );
    if (database.dialect === 'sqlite') return;
    const secrets = this.current();
    assertFits(secrets, rows);
    const missing = keysIn(secrets).filter(({ key }) => !rows.some(({ id }) => id === key.id));
    if (missing.length === 0) return;
    await locked(database, async (db) => {
      assertFits(secrets, await readRows(db));
      for (const stored of missing) await insertFingerprint(db, stored);
    });
  }

  #unsealAll(rows: readonly InstallationKeyRow[]): StoredKey[] {
    const { secret, secretPrevious } = this.#o;
    const roots = [secret, secretPrevious].flatMap((each) => (each === undefined ? [] : [rootKey(each)]));
    return rows.map(({ id, kind, created_at, sealed }) => {
      try {
        const key = unseal(roots, PURPOSE, `${kind} ${id}`, sealed as Encrypted);
        return { kind: kind as StoredKind, key: { id, key, createdAt: created_at } };
      } catch {
        throw refusal(
          'LEGATE_SECRET is not the one that the keys in the database are sealed under. Set the one of the other ' +
            'instances; or, if you have changed it, set the former one as LEGATE_SECRET_PREVIOUS and run npx legate ' +
            'keys rotate.',
        );
      }
    });
  }

  async #insert(db: Db, keys: readonly StoredKey[]): Promise<void> {
    const root = rootKey(this.#o.secret as string);
    const rows = keys.map(({ kind, key: { id, key, createdAt } }) => ({
      id,
      kind,
      created_at: createdAt,
      sealed: seal([root], PURPOSE, `${kind} ${id}`, key),
    }));
    await db.insertInto('installation_keys').values(rows).execute();
  }

  #inOrder(): Secrets {
    const inEffect = this.#o.now() - TAKES_EFFECT_MS;
    const newestFirst = (kind: StoredKind): Key[] =>
      this.#keys
        .filter((each) => each.kind === kind)
        .map(({ key }) => key)
        .sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
    const of = (kind: SecretKeyKind): Key[] => {
      const keys = newestFirst(kind);
      // The key of the first start, which is the oldest, takes effect immediately.
      const waiting = keys.slice(0, -1).filter((key) => Date.parse(key.createdAt) > inEffect);
      return [...keys.filter((key) => !waiting.includes(key)), ...waiting];
    };
    return { signing: of('signing'), cookie: of('cookie'), pepper: of('pepper'), ledger: newestFirst('ledger') };
  }

  #newKey(): Key {
    return newKey(this.#o.now());
  }
}

/** Deletes the keys from the database. Data that was encrypted with them cannot be read again. */
export const forgetKeys = (database: Database): Promise<void> =>
  locked(database, async (db) => {
    await db.deleteFrom('installation_keys').execute();
  });

function assertFits(secrets: Secrets, rows: readonly InstallationKeyRow[]): void {
  const known = new Map(keysIn(secrets).map(({ key }) => [key.id, fingerprint(key)]));
  if (rows.every(({ id, sealed }) => known.get(id) === sealed)) return;
  throw refusal(
    'secrets.json in LEGATE_DATA_DIR lacks keys that other instances have used with this database. Copy the ' +
      'secrets.json of an instance that runs, or set the same LEGATE_SECRET for all; or, if that file is lost, run ' +
      'npx legate keys forget.',
  );
}

const insertFingerprint = async (db: Db, { kind, key }: StoredKey): Promise<void> => {
  await db
    .insertInto('installation_keys')
    .values({ id: key.id, kind, created_at: key.createdAt, sealed: fingerprint(key) })
    .onConflict((oc) => oc.column('id').doNothing())
    .execute();
};

const isFingerprint = ({ sealed }: InstallationKeyRow): boolean => sealed.startsWith(IN_FILE);

const readRows = (db: Db): Promise<InstallationKeyRow[]> =>
  db.selectFrom('installation_keys').selectAll().orderBy('created_at', 'desc').orderBy('id').execute();

/** Runs in a transaction that does not overlap with those of other instances, because it holds the head row. */
const locked = <T>(database: Database, work: (db: Db) => Promise<T>): Promise<T> =>
  database.write.transaction().execute(async (db) => {
    const head = db.selectFrom('head').select('id').where('id', '=', 1);
    await (database.dialect === 'postgres' ? head.forUpdate() : head).execute();
    return work(db);
  });
