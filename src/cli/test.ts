import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { EXIT_BAD_FIXTURES, readFixtures } from './fixtures/file.ts';
import { decideByPolicy } from './fixtures/policy.ts';
import { decideByService } from './fixtures/remote.ts';
import { compareFixtures } from './fixtures/report.ts';

interface Values {
  file?: string;
  policy?: string;
  url?: string;
  token?: string;
}

/** `legate test <file>`: decisions as they should be, against a policy or a running service. Exit code 1 when one differs, 2 when the file is bad or the service does not answer. */
export const command: Command<Values> = {
  argument: { name: 'file', meaning: 'the fixtures, YAML or JSON' },
  options: {
    policy: {
      type: 'string',
      value: 'file',
      meaning: 'agents, permissions and delegations, if they are not in the fixtures',
    },
    url: { type: 'string', value: 'address', meaning: 'ask a running service instead; nothing is counted or recorded' },
    token: {
      type: 'string',
      value: 'token',
      meaning: 'credential for it: an API token of the person who owns the agents',
    },
  },
  run: async ({ file: path, policy, url, token }) => {
    if (path === undefined)
      throw new UsageError('legate test needs a file of fixtures: docs/fixtures.md shows one.', EXIT_USAGE);
    if (url !== undefined && policy !== undefined)
      throw new UsageError('--policy and --url exclude each other.', EXIT_USAGE);
    if (url !== undefined && (!URL.canParse(url) || token === undefined))
      throw new UsageError('--url needs an address such as http://localhost:3000, and --token.', EXIT_USAGE);
    const file = readFixtures(path, policy);
    if (url === undefined && !file.policy)
      throw new UsageError(
        `${path}: this file has no agents: add agents, or name a --policy file, or a service with --url.`,
        EXIT_BAD_FIXTURES,
      );
    const decided =
      url !== undefined
        ? await decideByService(file, { url, token: token as string })
        : await decideByPolicy(file, file.policy as NonNullable<typeof file.policy>);
    const { text, differences } = compareFixtures(file, decided);
    process.stdout.write(`${text}\n`);
    if (differences > 0) process.exitCode = 1;
  },
};
