import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { EXIT_BAD_FIXTURES, readFixtures } from './fixtures/file.ts';
import { decideByPolicy } from './fixtures/policy.ts';
import { decideByService } from './fixtures/remote.ts';
import { compareFixtures } from './fixtures/report.ts';
import { tokenFor } from './login/credentials.ts';

interface Values {
  file?: string;
  policy?: string;
  url?: string;
  token?: string;
}

/**
 * `legate test <file>`: compares expected decisions with a policy or a running service. Exit code 1 if one differs, 2
 * if the file is invalid or the service does not answer.
 */
export const command: Command<Values> = {
  argument: { name: 'file', meaning: 'expected decisions, YAML or JSON' },
  options: {
    policy: {
      type: 'string',
      value: 'file',
      meaning: 'file with agents and delegations, if the fixtures have none',
    },
    url: { type: 'string', value: 'address', meaning: 'ask a running service instead, without counting or recording' },
    token: {
      type: 'string',
      value: 'token',
      meaning:
        'for --url: an API token of the owner of the agents; by default LEGATE_TOKEN, or the one from npx legate login',
    },
  },
  run: async ({ file: path, policy, url, token }) => {
    if (path === undefined)
      throw new UsageError('npx legate test needs a file of fixtures. docs/fixtures.md shows an example.', EXIT_USAGE);
    if (url !== undefined && policy !== undefined)
      throw new UsageError('--policy and --url cannot be used together.', EXIT_USAGE);
    if (url !== undefined && !URL.canParse(url))
      throw new UsageError('--url needs an address such as http://localhost:3000.', EXIT_USAGE);
    const file = readFixtures(path, policy);
    if (url === undefined && !file.policy)
      throw new UsageError(
        `${path} has no agents. Add agents, a file with --policy, or a service with --url.`,
        EXIT_BAD_FIXTURES,
      );
    const decided =
      url !== undefined
        ? await decideByService(file, { url, token: await tokenFor(url, token) })
        : await decideByPolicy(file, file.policy as NonNullable<typeof file.policy>);
    const { text, differences } = compareFixtures(file, decided);
    process.stdout.write(`${text}\n`);
    if (differences > 0) process.exitCode = 1;
  },
};
