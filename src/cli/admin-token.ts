import type { Legate } from '../service.ts';
import { type Command, UsageError } from './command.ts';
import { readSettings, useExistingData, withLegate } from './settings.ts';

/** `legate admin token`: prints a fresh API token with the power of an administrator, also while the service runs. Nothing else goes to standard output. */
export const command: Command<{ user?: string; name?: string }> = {
  options: {
    user: {
      type: 'string',
      value: 'address',
      meaning: 'administrator to make it for; the first one by default',
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
      ? 'There is no administrator yet. Open the set-up link that the service prints at start, or run npx legate admin create.'
      : `No administrator has the address ${email}.`,
  );
}
