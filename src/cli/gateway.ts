import { resolve } from 'node:path';
import { styleText } from 'node:util';
import type { Listening } from '../http/node.ts';
import { packageVersion } from '../kernel/version.ts';
import { connectPath, gatewayPath, listTools, type ServersInput } from '../mcp/gateway/index.ts';
import { ensureFirstAdmin, type FirstAdmin } from '../people/users/index.ts';
import { type Command, EXIT_CONFIG, EXIT_USAGE, UsageError } from './command.ts';
import { explain } from './gateway/explain.ts';
import { checkServers } from './gateway/files.ts';
import { type GatewayOptions, serversOf } from './gateway/servers.ts';
import { type Endpoint, renderSnippets } from './gateway/snippets.ts';
import { freePort, listenOn } from './listen.ts';
import { createLog, printMail } from './log.ts';
import { open, readSettings, rememberAddress, type Settings, useDatabaseAlone, useDataFolder } from './settings.ts';
import { exitOnCrash, stopOnSignals } from './stop.ts';

interface Values extends GatewayOptions {
  readonly port?: string;
}

const HOST = '127.0.0.1';

/** `legate gateway -- <command>`: service and gateway in one process, on loopback (contract 20). */
export const command: Command<Values> = {
  argument: {
    name: 'command',
    meaning: 'after --: the command that starts the MCP server, with its arguments',
    many: true,
    afterDashes: true,
  },
  options: {
    name: { type: 'string', value: 'name', meaning: 'name of the server; by default taken from the command' },
    upstream: { type: 'string', value: 'url', meaning: 'a server over Streamable HTTP, instead of a command' },
    'header-file': { type: 'string', value: 'file', meaning: 'headers for --upstream, one a line: Name: value' },
    oauth: { type: 'boolean', meaning: 'for --upstream: each person signs in to that server' },
    config: { type: 'string', value: 'file', meaning: 'JSON with the mcpServers of MCP clients' },
    port: { type: 'string', value: 'number', meaning: 'port on 127.0.0.1; by default PORT, or 3000' },
  },
  notes: `The data is in LEGATE_DATA_DIR, by default ./.legate. docs/guides/login-for-an-mcp-server.md has an example.`,
  run: async (values) => {
    const settings = readSettings();
    if (settings.production)
      throw new UsageError(
        'npx legate gateway is for one machine. In production, add the servers to gateway.servers and use npx legate ' +
          'serve.',
        EXIT_CONFIG,
      );
    const servers = allServers(settings, serversOf(values));
    const { dataDir, log: logging, users, http } = settings.values;
    const log = createLog(logging.level);
    exitOnCrash(log);
    useDataFolder(settings.values);
    useDatabaseAlone(settings);
    const wanted = portOf(values.port) ?? http.port;
    const port = wanted === 0 ? await freePort(HOST) : wanted;
    const isDefault = settings.sources.get('users.signUp') === 'default';
    const legate = await open(
      {
        http: { port, host: HOST },
        gateway: { servers },
        // Other users of this machine can reach the port too.
        users: { signUp: isDefault ? 'invite' : users.signUp },
      },
      { ...settings.options, log, printMail: (mail) => printMail(logging, mail) },
    );
    let listening: Listening | undefined;
    const rest = legate.baseUrl + http.restPath.replace(/\/$/, '');
    const stop = async (): Promise<void> => {
      await listening?.stop();
      await legate.close();
    };
    try {
      const firstAdmin = legate.firstAdmin ?? (await ensureFirstAdmin(legate.platform));
      listening = await listenOn(legate, port, HOST, '--port');
      stopOnSignals({ drainMs: 0, drain: () => {}, stop, log });
      rememberAddress(dataDir, rest);
      const endpoints = Object.entries(servers)
        .filter(([, { disabled }]) => disabled !== true)
        .map(([name]) => ({ name, url: rest + gatewayPath(name) }));
      process.stdout.write(
        render(endpoints, firstAdmin, [
          ['Data', resolve(dataDir)],
          ...(settings.values.console.enabled ? [['Console', `${rest}/console\n${CONSOLE_SHOWS}`] as const] : []),
        ]),
      );
    } catch (error) {
      await stop();
      throw error;
    }
    await tryServers(servers, rest);
  },
};

/** The printed text explains how to get from a first call to calls that are refused or wait for a person. */
const CONSOLE_SHOWS =
  'Agents: the tools that a client may call, and the calls that need your approval.\nAudit: each call and its ' +
  'decision.';

/** Adds the servers of the configuration. Throws UsageError if a name is in both. */
function allServers({ values }: Settings, added: ServersInput): ServersInput {
  const clash = Object.keys(added).find((name) => Object.hasOwn(values.gateway.servers, name));
  if (clash !== undefined)
    throw new UsageError(`gateway.servers already has a server ${clash}. Choose another --name.`, EXIT_CONFIG);
  return { ...values.gateway.servers, ...added };
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError('--port needs a number up to 65535.', EXIT_USAGE);
}

/** Starts each server once, so that a mistake in a command is reported now and not at the first call. */
async function tryServers(servers: ServersInput, rest: string): Promise<void> {
  // npx may have to download the server first.
  process.stdout.write('Testing the servers...\n');
  await Promise.all(
    checkServers({ mcpServers: servers }, 'gateway.servers').map(async (server) => {
      const { type } = server.legate.auth;
      if (type === 'oauth' || type === 'userSecret') {
        const what = type === 'oauth' ? 'signs in to it' : 'enters credentials for it';
        process.stdout.write(`${server.name}: each person first ${what} at ${rest}${connectPath(server.name)}\n`);
        return;
      }
      const outcome = await listTools(server).then(
        ({ length }) => `answers, and has ${length} ${length === 1 ? 'tool' : 'tools'}.`,
        (error: Error) => `does not answer: ${explain(server, error)}`,
      );
      process.stdout.write(`${server.name} ${outcome}\n`);
    }),
  );
}

function render(
  endpoints: readonly Endpoint[],
  firstAdmin: FirstAdmin,
  more: readonly (readonly [string, string])[],
): string {
  const bold = (text: string): string =>
    process.stdout.isTTY && !process.env['NO_COLOR'] ? styleText('bold', text) : text;
  const signIn: readonly (readonly [string, string])[] =
    firstAdmin.kind === 'setupLink'
      ? [['Set-up', `${bold(firstAdmin.url)}\nOpen it first: it creates your account, once, within 15 minutes.`]]
      : [];
  const rows = [
    ...endpoints.map(({ name, url }) => [name, bold(url)] as const),
    ...signIn,
    ['Sign-in', 'A client opens the sign-in page in your browser when it connects for the first time.'] as const,
    ...more,
  ];
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  const body = rows.map(
    ([name, text]) => `  ${name.padEnd(width)}${text.replaceAll('\n', `\n  ${' '.repeat(width)}`)}`,
  );
  const title = `Legate ${packageVersion()} gateway  ready after ${Math.round(performance.now())} ms`;
  return `\n${title}\n\n${body.join('\n')}\n\n${renderSnippets(endpoints)}\n\n`;
}
