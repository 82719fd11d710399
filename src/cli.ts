#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { type Command, EXIT_CONFIG, EXIT_USAGE, UsageError } from './cli/command.ts';
import { ConfigError, nearestWord } from './kernel/config.ts';
import { FolderError } from './kernel/data-folder.ts';
import { LegateError } from './kernel/errors.ts';
import { packageVersion } from './kernel/version.ts';

interface Entry {
  readonly meaning: string;
  readonly load: () => Promise<{ command: Command<never> }>;
}

/** Each command is loaded only when it is called. */
const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: { meaning: 'start the service', load: () => import('./cli/serve.ts') },
  demo: {
    meaning: 'run a demo service with sample data, in a temporary folder',
    load: () => import('./cli/demo.ts'),
  },
  migrate: { meaning: 'bring the database schema up to date', load: () => import('./cli/migrate.ts') },
  backup: { meaning: 'save everything to a folder, while the service runs', load: () => import('./cli/backup.ts') },
  restore: { meaning: 'fill an empty database from a backup', load: () => import('./cli/restore.ts') },
  check: { meaning: 'list what would stop a production start', load: () => import('./cli/check.ts') },
  config: { meaning: 'show every setting and where its value comes from', load: () => import('./cli/config.ts') },
  openapi: { meaning: 'print the API description (OpenAPI 3.1)', load: () => import('./cli/openapi.ts') },
  login: { meaning: 'log in to a running service and keep its token', load: () => import('./cli/login.ts') },
  test: {
    meaning: 'compare expected decisions with a policy or a running service',
    load: () => import('./cli/test.ts'),
  },
  seed: { meaning: 'create agents and delegations from a file', load: () => import('./cli/seed.ts') },
  doctor: { meaning: 'test the login of any MCP server, step by step', load: () => import('./cli/doctor.ts') },
  gateway: {
    meaning: 'add login and permissions to an existing MCP server',
    load: () => import('./cli/gateway.ts'),
  },
  'gateway approve': {
    meaning: 'approve new and changed tools of an MCP server',
    load: () => import('./cli/gateway-approve.ts'),
  },
  'gateway check': {
    meaning: 'compare the tools of MCP servers with the recorded ones',
    load: () => import('./cli/gateway-check.ts'),
  },
  verify: { meaning: 'check proofs of a sealed ledger, offline', load: () => import('./cli/verify.ts') },
  witness: { meaning: 'cosign the checkpoints of sealed ledgers', load: () => import('./cli/witness.ts') },
  'ledger keys': {
    meaning: 'print the verifier keys of the sealed ledger',
    load: () => import('./cli/ledger-keys.ts'),
  },
  'ledger rotate-key': {
    meaning: 'add a key of the sealed ledger, and retire the earlier one',
    load: () => import('./cli/ledger-rotate-key.ts'),
  },
  'ledger check': {
    meaning: 'compare every row of the ledger with its sealed hash',
    load: () => import('./cli/ledger-check.ts'),
  },
  'ledger recover': {
    meaning: 'begin another sealed log after the database was restored or rolled back',
    load: () => import('./cli/ledger-recover.ts'),
  },
  tour: {
    meaning: 'try out a running service, with an explanation of each answer',
    load: () => import('./cli/tour.ts'),
  },
  'admin create': { meaning: 'create an administrator', load: () => import('./cli/admin-create.ts') },
  'admin token': {
    meaning: "print a new API token with an administrator's rights",
    load: () => import('./cli/admin-token.ts'),
  },
  'clock reset': {
    meaning: "set the ledger's time back after a clock was fast",
    load: () => import('./cli/clock-reset.ts'),
  },
  'keys list': { meaning: 'show the kinds of keys and their ages', load: () => import('./cli/keys-list.ts') },
  'keys forget': {
    meaning: 'let the next start use new keys after those of this database were lost',
    load: () => import('./cli/keys-forget.ts'),
  },
  'keys rotate': {
    meaning: 'add new keys; old ones still verify and decrypt',
    load: () => import('./cli/keys-rotate.ts'),
  },
  'developer-token': {
    meaning: 'print a token for development, valid for one hour',
    load: () => import('./cli/developer-token.ts'),
  },
};

const listed = (entries: readonly (readonly [string, Entry])[]): string => {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries.map(([name, { meaning }]) => `  ${name.padEnd(width)}  ${meaning}`).join('\n');
};

const USAGE = `Legate ${packageVersion()}: identity, authorization and audit for software agents.

Usage: npx legate <command> [options]

${listed(Object.entries(COMMANDS))}

npx legate <command> --help shows the options of a command. Settings come from environment
variables and legate.config.json; npx legate config lists them.
`;

/** The error for an unknown command. */
function unknownCommand(words: readonly string[]): UsageError {
  const [first = ''] = words;
  const group = Object.entries(COMMANDS).filter(([name]) => name.startsWith(`${first} `));
  if (group.length > 0)
    return new UsageError(`npx legate ${first} needs a subcommand:\n\n${listed(group)}`, EXIT_USAGE);
  const close =
    nearestWord(words.slice(0, 2).join(' '), Object.keys(COMMANDS)) ?? nearestWord(first, Object.keys(COMMANDS));
  const hint = close === undefined ? '' : ` Did you mean ${close}?`;
  return new UsageError(`${first} is not a command.${hint}\n\n${USAGE}`, EXIT_USAGE);
}

async function main(args: readonly string[]): Promise<void> {
  const [first] = args;
  if (first === '--version' || first === '-v') return void process.stdout.write(`${packageVersion()}\n`);
  if (first === undefined || first === '--help' || first === '-h' || first === 'help')
    return void process.stdout.write(USAGE);
  const name = [args.slice(0, 2).join(' '), first].find((words) => Object.hasOwn(COMMANDS, words));
  const entry = name === undefined ? undefined : COMMANDS[name];
  if (name === undefined || !entry) throw unknownCommand(args);

  const { command } = await entry.load();
  const given = args.slice(name.split(' ').length);
  const options = { ...command.options, help: { type: 'boolean', short: 'h', meaning: '' } } as const;
  let values: Record<string, unknown>;
  if (command.argument?.afterDashes) assertDashes(name, given, options);
  try {
    const { argument } = command;
    const parsed = parseArgs({
      args: given,
      options,
      strict: true,
      allowPositionals: argument !== undefined,
    });
    if (parsed.positionals.length > 1 && !argument?.many)
      throw new Error(`Expected one ${argument?.name}, got ${parsed.positionals.length}.`);
    const positional = argument?.many ? parsed.positionals : parsed.positionals[0];
    values = { ...parsed.values, ...(argument ? { [argument.name]: positional } : {}) };
  } catch (error) {
    const usage = usageOf(name, entry.meaning, command);
    throw new UsageError(`${(error as Error).message}\n\n${usage}`, command.failureCode ?? EXIT_USAGE);
  }
  if (values['help'] === true) return void process.stdout.write(usageOf(name, entry.meaning, command));
  try {
    await command.run(values as never);
  } catch (error) {
    if (command.failureCode === undefined || error instanceof UsageError) throw error;
    throw new UsageError((error as Error).stack ?? String(error), command.failureCode);
  }
}

/**
 * Throws a UsageError if a command line begins without `--`, because its options would be taken for those of Legate.
 */
function assertDashes(name: string, args: readonly string[], options: NonNullable<Command['options']>): void {
  if (args.includes('--')) return;
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const start = tokens.find(({ kind }) => kind === 'positional')?.index;
  if (start === undefined) return;
  const line = ['npx legate', name, ...args.slice(0, start), '--', ...args.slice(start)].join(' ');
  throw new UsageError(`Write -- before the command: ${line}`, EXIT_USAGE);
}

function usageOf(
  name: string,
  meaning: string,
  { argument, options = {}, notes }: Pick<Command, 'argument' | 'options' | 'notes'>,
): string {
  const rows = [
    ...(argument ? [[`<${argument.name}>`, argument.meaning] as const] : []),
    ...Object.entries(options).map(
      ([option, { value, meaning: text }]) => [`--${option}${value ? ` <${value}>` : ''}`, text] as const,
    ),
  ];
  const column = Math.max(0, ...rows.map(([option]) => option.length));
  const table = rows.map(([option, text]) => `\n  ${option.padEnd(column)}  ${text}`).join('');
  return [`npx legate ${name}: ${meaning}\n`, table && `${table}\n`, notes && `\n${notes}\n`].join('');
}

const DISK_ERRORS = ['ENOSPC', 'EDQUOT', 'EROFS'];

/** Codes of SQLite and PostgreSQL. */
const FULL_DATABASE_ERRORS = ['SQLITE_FULL', '53100'];

const hasCode = (error: unknown, codes: readonly string[]): error is Error =>
  error instanceof Error && codes.includes((error as NodeJS.ErrnoException).code ?? '');

/** Prints an error and returns its exit code. Errors that the user can correct are printed without a stack. */
function report(error: unknown): number {
  const [text, exitCode] =
    error instanceof UsageError
      ? [error.message, error.exitCode]
      : error instanceof ConfigError
        ? [error.message, EXIT_CONFIG]
        : error instanceof FolderError
          ? [error.message, 1]
          : error instanceof LegateError
            ? [`${error.code}: ${error.message}`, 1]
            : hasCode(error, DISK_ERRORS)
              ? [`A file cannot be written (${error.message}). Make room, or make the folder writable.`, 1]
              : hasCode(error, FULL_DATABASE_ERRORS)
                ? [`The database has no room (${error.message}). Make room, and run the command again.`, 1]
                : [error instanceof Error ? (error.stack ?? error.message) : String(error), 1];
  process.stderr.write(`${text.trimEnd()}\n`);
  return exitCode;
}

// Files that a command creates are for this user only.
process.umask(0o077);
// `legate openapi | head`: a reader that stops early is not an error, and must not stop the service.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

main(process.argv.slice(2)).catch((error: unknown) => {
  process.exitCode = report(error);
});
