import { openSqlite } from '../storage/index.ts';

/** The newest checkpoint that was cosigned of a log. */
export interface Seen {
  readonly size: number;
  /** In base64. */
  readonly root: string;
  /** The note, with the log's signatures and the newest cosignature. */
  readonly note: string;
}

export interface WitnessStore {
  find(origin: string): Seen | undefined;
  /** Replaces what is known of a log. Returns false if that is no longer `from`. Durable on return. */
  replace(origin: string, from: Seen | undefined, to: Seen): boolean;
  /** Keeps both notes of a log that has signed two trees which contradict each other. */
  keepFork(origin: string, known: string, other: string, at: number): void;
  forks(): { readonly origin: string; readonly known: string; readonly other: string }[];
  close(): void;
}

/** Forks that are kept of a log. */
const MAX_FORKS = 100;

/** Opens the state of a witness, a SQLite file. */
export function openStore(path: string): WitnessStore {
  const db = openSqlite(path);
  db.exec(`
    create table if not exists logs (origin text primary key, size integer not null, root text not null,
      note text not null);
    create table if not exists forks (origin text not null, known text not null, other text not null,
      at integer not null, primary key (origin, other))`);
  const select = db.prepare('select size, root, note from logs where origin = ?');
  const insert = db.prepare(
    'insert into logs (origin, size, root, note) values (?, ?, ?, ?) on conflict (origin) do nothing',
  );
  const update = db.prepare('update logs set size = ?, root = ?, note = ? where origin = ? and size = ? and root = ?');
  const keep = db.prepare(
    'insert into forks (origin, known, other, at) select ?, ?, ?, ? ' +
      `where (select count(*) from forks where origin = ?) < ${MAX_FORKS} on conflict do nothing`,
  );
  const list = db.prepare('select origin, known, other from forks order by at');
  return {
    find: (origin) => {
      const row = select.first([origin]);
      return row && { size: Number(row['size']), root: String(row['root']), note: String(row['note']) };
    },
    replace: (origin, from, { size, root, note }) => {
      const { changes } = from
        ? update.run([size, root, note, origin, from.size, from.root])
        : insert.run([origin, size, root, note]);
      return changes === 1;
    },
    keepFork: (origin, known, other, at) => void keep.run([origin, known, other, at, origin]),
    forks: () => list.all([]) as { origin: string; known: string; other: string }[],
    close: () => db.close(),
  };
}
