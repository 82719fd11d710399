import { nameProblem, type ServersInput } from '../../mcp/gateway/index.ts';
import { EXIT_CONFIG, EXIT_USAGE, UsageError } from '../command.ts';
import { checkServers, readServersFile, readText } from './files.ts';
import { nameOfCommand } from './name.ts';

export interface GatewayOptions {
  readonly command?: readonly string[];
  readonly name?: string;
  readonly upstream?: string;
  readonly 'header-file'?: string;
  readonly oauth?: boolean;
  readonly config?: string;
}

const wrong = (message: string): UsageError => new UsageError(message, EXIT_USAGE);

/** Returns the servers that the command line names. Throws UsageError. */
export function serversOf(options: GatewayOptions): ServersInput {
  const { command = [], name, upstream, config, oauth = false } = options;
  const ways = [command.length > 0, upstream !== undefined, config !== undefined].filter(Boolean).length;
  if (ways === 0)
    throw wrong(
      'npx legate gateway needs a server: a command after --, --upstream with an address, or --config with a ' +
        'file.\n\n  npx legate gateway -- npx -y @modelcontextprotocol/server-filesystem ./notes',
    );
  if (ways > 1)
    throw wrong('Use exactly one of: a command after --, --upstream, --config. A file may have several servers.');
  if (upstream === undefined && (options['header-file'] !== undefined || oauth))
    throw wrong('--header-file and --oauth can only be used with --upstream.');
  if (config !== undefined) {
    if (name !== undefined) throw wrong('--name cannot be used with --config, because its servers have names.');
    return readServersFile(config);
  }
  if (upstream === undefined) {
    const [program, ...args] = command;
    return checked(name ?? nameOfCommand(command), { command: program as string, args });
  }
  if (name === undefined) throw wrong('--upstream needs a name for the server: --name <name>.');
  if (oauth && options['header-file'] !== undefined)
    throw wrong(
      'Use only one of --header-file and --oauth: either all people use the credentials of the file, or each signs in.',
    );
  const headers = options['header-file'] === undefined ? {} : readHeaders(options['header-file']);
  const legate = oauth ? { legate: { auth: { type: 'oauth' as const } } } : {};
  return checked(name, { url: upstream, headers, ...legate });
}

/** Throws a UsageError that names the option, because the person has not written an mcpServers object. */
function checked(name: string, server: ServersInput[string]): ServersInput {
  const problem = nameProblem(name);
  if (problem !== undefined) throw new UsageError(`--name: ${problem}`, EXIT_CONFIG);
  try {
    checkServers({ mcpServers: { [name]: server } }, server.url === undefined ? 'The command' : '--upstream');
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(error.message.replace(/mcpServers\.[\w.-]+?(\.url)?: /, ''), EXIT_CONFIG);
  }
  return { [name]: server };
}

/** Reads a file with a header on each line: `Authorization: Bearer ...`. */
function readHeaders(path: string): Record<string, string> {
  const lines = (readText(path) as string).split(/\r?\n/).filter((line) => line.trim() !== '');
  if (lines.length === 0) throw wrong(`${path} has no header, such as Authorization: Bearer <token>.`);
  const headers = new Headers();
  for (const [at, line] of lines.entries()) {
    const [, header, value] = /^([!#$%&'*+.^`|~\w-]+):\s*(\S.*?)\s*$/.exec(line) ?? [];
    if (header === undefined || value === undefined)
      throw wrong(`${path}: line ${at + 1} is not a header, such as Authorization: Bearer <token>.`);
    if (headers.has(header)) throw wrong(`${path}: line ${at + 1} repeats the header ${header}.`);
    try {
      headers.set(header, value);
    } catch {
      throw wrong(`${path}: line ${at + 1} has characters that are not allowed in a header.`);
    }
  }
  return Object.fromEntries(headers);
}
