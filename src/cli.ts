#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { type Command, EXIT_CONFIG, EXIT_USAGE, UsageError } from './cli/command.ts';
import { ConfigError } from './kernel/config.ts';
import { LegateError } from './kernel/errors.ts';
import { packageVersion } from './kernel/version.ts';

interface Entry {
  readonly meaning: string;
  readonly load: () => Promise<{ command: Command<never> }>;
}

/** Each command is loaded only when it is called. */
const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: { meaning: 'start the service', load: () => import('./cli/serve.ts') },
  migrate: { meaning: 'bring the database schema up to date', load: () => import('./cli/migrate.ts') },
  check: { meaning: 'what production would refuse, without starting', load: () => import('./cli/check.ts') },
  config: { meaning: 'the values in force and where each is from', load: () => import('./cli/config.ts') },
  openapi: { meaning: 'the description of the API (OpenAPI 3.1)', load: () => import('./cli/openapi.ts') },
  test: {
    meaning: 'decisions as they should be, against a policy or a running service',
    load: () => import('./cli/test.ts'),
  },
  doctor: {
    meaning: 'what an MCP client meets on its way from 401 to a call, against any server',
    load: () => import('./cli/doctor.ts'),
  },
  tour: { meaning: 'a tour of a running service, each answer explained', load: () => import('./cli/tour.ts') },
  'admin create': { meaning: 'make an administrator', load: () => import('./cli/admin-create.ts') },
  'admin token': {
    meaning: "print a fresh API token with an administrator's power",
    load: () => import('./cli/admin-token.ts'),
  },
  'developer-token': {
    meaning: 'print a token for trying things out, good for an hour',
    load: () => import('./cli/developer-token.ts'),
  },
};

const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
const USAGE = `Legate ${packageVersion()}: identity, authorization and audit for software agents.

Usage: legate <command> [options]

${Object.entries(COMMANDS)
  .map(([name, { meaning }]) => `  ${name.padEnd(width)}  ${meaning}`)
  .join('\n')}

legate <command> --help shows its options. Everything else is set by environment variables and legate.config.json; \`legate config\` lists them.
`;

async function main(args: readonly string[]): Promise<void> {
  const [first] = args;
  if (first === '--version' || first === '-v') return void process.stdout.write(`${packageVersion()}\n`);
  if (first === undefined || first === '--help' || first === '-h' || first === 'help')
    return void process.stdout.write(USAGE);
  const name = [args.slice(0, 2).join(' '), first].find((words) => Object.hasOwn(COMMANDS, words));
  const entry = name === undefined ? undefined : COMMANDS[name];
  if (name === undefined || !entry) throw new UsageError(`${first} is not a command.\n\n${USAGE}`, EXIT_USAGE);

  const { command } = await entry.load();
  const options = command.options ?? {};
  let values: Record<string, unknown>;
  try {
    const { argument } = command;
    const parsed = parseArgs({
      args: args.slice(name.split(' ').length),
      options: { ...options, help: { type: 'boolean', short: 'h' } },
      strict: true,
      allowPositionals: argument !== undefined,
    });
    if (parsed.positionals.length > 1)
      throw new Error(`There is one ${argument?.name}, and ${parsed.positionals.length} were given.`);
    values = { ...parsed.values, ...(argument ? { [argument.name]: parsed.positionals[0] } : {}) };
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usageOf(name, entry.meaning, command)}`, EXIT_USAGE);
  }
  if (values['help'] === true) return void process.stdout.write(usageOf(name, entry.meaning, command));
  await command.run(values as never);
}

function usageOf(
  name: string,
  meaning: string,
  { argument, options = {} }: Pick<Command, 'argument' | 'options'>,
): string {
  const rows = [
    ...(argument ? [[`<${argument.name}>`, argument.meaning] as const] : []),
    ...Object.entries(options).map(
      ([option, { value, meaning: text }]) => [`--${option}${value ? ` <${value}>` : ''}`, text] as const,
    ),
  ];
  const column = Math.max(0, ...rows.map(([option]) => option.length));
  return `legate ${name}: ${meaning}\n${rows.map(([option, text]) => `\n  ${option.padEnd(column)}  ${text}`).join('')}${rows.length > 0 ? '\n' : ''}`;
}

/** What a person can mend is said without a stack. */
function report(error: unknown): number {
  const [text, exitCode] =
    error instanceof UsageError
      ? [error.message, error.exitCode]
      : error instanceof ConfigError
        ? [error.message, EXIT_CONFIG]
        : error instanceof LegateError
          ? [`${error.code}: ${error.message}`, 1]
          : [error instanceof Error ? (error.stack ?? error.message) : String(error), 1];
  process.stderr.write(`${text.trimEnd()}\n`);
  return exitCode;
}

// What a command makes is for this user alone.
process.umask(0o077);
// `legate openapi | head`: a reader that has seen enough is no failure, and no reason to stop serving.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

main(process.argv.slice(2)).catch((error: unknown) => {
  process.exitCode = report(error);
});
