import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SYSTEM } from '../access/actor.ts';
import { HOUR_MS, isoTime, MINUTE_MS } from '../kernel/clock.ts';
import { asId } from '../kernel/ids.ts';
import { secretHash } from '../kernel/secrets.ts';
import { ensureExternalUser } from '../people/users/index.ts';
import type { Platform } from '../platform.ts';
import { type Command, UsageError } from './command.ts';
import { readSettings, type Settings, useDataFolder, useExistingData, withLegate } from './settings.ts';

const USER_ID = asId('user', 'developer');
const LIFETIME_MS = HOUR_MS;
/** A token with less time left is replaced. */
const ENOUGH_MS = 10 * MINUTE_MS;

/** `legate developer-token`: prints a token for development, and nothing else, to standard output. */
export const command: Command = {
  run: async () => {
    process.stdout.write(`${await developerToken(readSettings())}\n`);
  },
};

/**
 * Returns an API token of the user `developer`, who has no password and is not an administrator. It is valid for an
 * hour, stored in the data folder (0600) and returned again until ten minutes before it expires. Not available in
 * production.
 */
export async function developerToken(settings: Settings): Promise<string> {
  if (settings.production)
    throw new UsageError(
      'Developer tokens are not available in production. npx legate admin token prints an API token.',
    );
  const { dataDir } = settings.values;
  useExistingData(settings);
  useDataFolder(settings.values);
  const path = join(dataDir, 'developer-token');
  return withLegate(settings, async ({ platform, apiTokens }) => {
    const kept = readKept(path);
    if (kept !== undefined && (await isValidFor(platform, kept))) return kept;
    const expiresAt = await platform.ledger.change(SYSTEM, async (change) => {
      const { db, now } = change;
      await ensureExternalUser(change, { userId: USER_ID, tenantId: null });
      await db.deleteFrom('api_tokens').where('user_id', '=', USER_ID).where('expires_at', '<=', now).execute();
      return now + LIFETIME_MS;
    });
    const { token } = await apiTokens.create(USER_ID, { name: 'developer token', expiresAt: isoTime(expiresAt) });
    writeFileSync(path, token, { mode: 0o600 });
    chmodSync(path, 0o600);
    return token;
  });
}

function readKept(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

async function isValidFor({ database, clock }: Pick<Platform, 'clock' | 'database'>, token: string): Promise<boolean> {
  const row = await database.read
    .selectFrom('api_tokens')
    .select('expires_at')
    .where('token_hash', '=', secretHash(token))
    .executeTakeFirst();
  return row !== undefined && (row.expires_at ?? 0) > clock.now() + ENOUGH_MS;
}
