import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { BackupError } from './backup-error.ts';

export const MANIFEST_FILE = 'manifest.json';
export const SECRETS_FILE = 'secrets.json';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const FileName = z.string().regex(/^[a-z0-9_]{1,100}(\.[a-z]{1,10}){1,2}$/);

const Manifest = z.strictObject({
  /** Version of this format. */
  format: z.literal(1),
  /** Version of Legate that made the backup. */
  version: z.string(),
  createdAt: z.iso.datetime(),
  database: z.enum(['sqlite', 'postgres']),
  /** Applied migrations, in order. */
  migrations: z.array(z.string().max(100)).min(1).max(1000),
  /** End of the ledger, and the sequence up to which only audit entries are kept. */
  ledger: z.strictObject({ seq: z.int().min(0), keptWholeAfter: z.int().min(0) }),
  tables: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-z_]{1,60}$/),
        columns: z.array(z.string().regex(/^[a-z0-9_]{1,60}$/)).min(1),
        rows: z.int().min(0),
        file: FileName,
        sha256: Sha256,
      }),
    )
    .max(1000),
  /** The keys of the data folder, if the backup was made with them. */
  secrets: z.strictObject({ file: FileName, sha256: Sha256 }).nullable(),
});
export type Manifest = z.output<typeof Manifest>;

/** One JSON row on each line, compressed. */
export const tableFile = (name: string): string => `${name}.ndjson.gz`;

export const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');

/** The text of the manifest file: the manifest and a hash of it. */
export function serializeManifest(manifest: Manifest): string {
  return `${JSON.stringify({ ...manifest, sha256: sha256(JSON.stringify(manifest)) }, null, 2)}\n`;
}

/** @throws BackupError if the folder has no manifest, or one that is damaged or of a later format. */
export function readManifest(dir: string): Manifest {
  const path = join(dir, MANIFEST_FILE);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new BackupError(
      `${path} cannot be read. Give the folder of a backup. A backup without a manifest was interrupted.`,
    );
  }
  const damaged = new BackupError(`${path} is damaged. Use another backup.`);
  let content: { sha256?: unknown; format?: unknown };
  try {
    content = JSON.parse(text);
  } catch {
    throw damaged;
  }
  const { sha256: hash, ...rest } = content ?? {};
  if (hash !== sha256(JSON.stringify(rest))) throw damaged;
  if (rest.format !== 1)
    throw new BackupError(
      `${path} has a format that this version of Legate does not support. Restore with a later version.`,
    );
  const parsed = Manifest.safeParse(rest);
  if (!parsed.success) throw damaged;
  return parsed.data;
}
