import type { Legate } from '../service.ts';
import { type Command, UsageError } from './command.ts';
import { readSettings, useExistingData, withLegate } from './settings.ts';

/**
 * `legate admin token`: prints a new API token with the rights of an administrator, and nothing else, to standard
 * output. Works while the service runs.
 */
export const command: Command<{ user?: string; name?: string }> = {
  options: {
    user: {
      type: 'string',
      value: 'address',
      meaning: 'e-mail address of the administrator; the first one by default',
    },
    name: { type: 'string', value: 'text', meaning: 'name in the list of tokens' },
  },
  run: async ({ user, name = 'command line' }) => {
    const settings = readSettings();
    useExistingData(settings);
    const token = await withLegate(
      settings,
      async (legate) => (await legate.apiTokens.create(await findAdmin(legate, user), { name })).token,
    );
    process.stdout.write(`${token}\n`);
  },
};

async function findAdmin(legate: Legate, email: string | undefined): Promise<string> {
  const [admin] = await legate.users.list({ role: 'admin', ...(email === undefined ? {} : { email }) });
  if (admin) return admin.id;
  throw new UsageError(
    email === undefined
      ? 'There is no administrator yet. Open the set-up link that the service prints at start, or run npx legate ' +
          'admin create.'
      : `No administrator has the address ${email}.`,
  );
}
