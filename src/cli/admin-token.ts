import { createApiToken } from '../api-tokens/index.ts';
import type { Platform } from '../platform.ts';
import { findUserByEmail, listUsers } from '../users/index.ts';
import { type Command, UsageError } from './command.ts';
import { readSettings, withLegate } from './settings.ts';

/** `legate admin token`: prints a fresh API token with the power of an administrator, also while the service runs. Nothing else goes to standard output. */
export const command: Command<{ user?: string; name?: string }> = {
  options: {
    user: { type: 'string', value: 'address', meaning: 'whose token; without it, of the administrator who was there first' },
    name: { type: 'string', value: 'text', meaning: 'under which it is listed' },
  },
  run: async ({ user, name = 'command line' }) => {
    const token = await withLegate(readSettings(), async ({ platform }) => {
      const userId = await findAdmin(platform, user);
      return (await createApiToken(platform, { userId }, { name })).token;
    });
    process.stdout.write(`${token}\n`);
  },
};

async function findAdmin(platform: Platform, email: string | undefined): Promise<string> {
  if (email === undefined) {
    const [first] = await listUsers(platform, { role: 'admin' }, { limit: 1, after: undefined });
    if (!first) throw new UsageError('There is no administrator yet: open the set-up link that the start prints, or use `legate admin create`.');
    return first.id;
  }
  const user = await findUserByEmail(platform.database.read, email);
  if (user?.role !== 'admin') throw new UsageError(`No administrator has the address ${email}.`);
  return user.id;
}
