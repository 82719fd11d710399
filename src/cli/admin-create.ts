import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { readPassword } from './read-password.ts';
import { readSettings, withLegate } from './settings.ts';

/** `legate admin create`: creates an administrator. Works while the service runs. */
export const command: Command<{ email?: string; name?: string; 'password-file'?: string }> = {
  options: {
    email: { type: 'string', value: 'address', meaning: 'required' },
    name: { type: 'string', value: 'text', meaning: 'the name that others see' },
    'password-file': {
      type: 'string',
      value: 'path',
      meaning: 'file that contains the password; standard input by default',
    },
  },
  run: async ({ email, name, 'password-file': file }) => {
    if (email === undefined) throw new UsageError('--email is required.', EXIT_USAGE);
    const settings = readSettings();
    const input = {
      email,
      password: await readPassword(file),
      ...(name === undefined ? {} : { name }),
      role: 'admin',
    } as const;
    const user = await withLegate(settings, (legate) => legate.users.create({ ...input, emailVerified: true }));
    process.stdout.write(`Created administrator ${user.email} (${user.id}).\n`);
  },
};
