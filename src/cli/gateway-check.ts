import { existsSync, writeFileSync } from 'node:fs';
import {
  compareDefinitions,
  type GatewayServer,
  type Lock,
  LockFile,
  listTools,
  lockOf,
} from '../mcp/gateway/index.ts';
import { type Command, EXIT_CONFIG, UsageError } from './command.ts';
import { explain } from './gateway/explain.ts';
import { checkServers, readEnabledServers, readJson } from './gateway/files.ts';
import { readSettings } from './settings.ts';

const LOCK_FILE = 'legate.gateway.lock.json';
const SERVERS_FILE = 'mcp.json';

interface Values {
  config?: string;
  frozen?: boolean;
}

/** `legate gateway check`: compares the tools of MCP servers with the ones recorded in the lock file (contract 20). */
export const command: Command<Values> = {
  options: {
    config: {
      type: 'string',
      value: 'file',
      meaning: `JSON with mcpServers; by default ${SERVERS_FILE}, or gateway.servers of this folder's configuration`,
    },
    frozen: { type: 'boolean', meaning: `fail if ${LOCK_FILE} is missing, instead of writing it` },
  },
  notes: 'The exit code is 1 if a definition differs or a server does not answer.',
  run: async ({ config, frozen = false }) => {
    const servers = config === undefined ? serversHere() : readEnabledServers(config);
    const recorded = readLock();
    if (!recorded && frozen) throw new UsageError(`${LOCK_FILE} is missing. npx legate gateway check writes it.`);
    // A server has a process group of its own, which an interrupt from the keyboard does not reach.
    const interrupted = (): never => process.exit(130);
    process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
    const lock: Lock = { version: 1, servers: {} };
    const problems: string[] = [];
    for (const server of servers) {
      const { pin, auth } = server.legate;
      if (pin === 'off') continue;
      if (auth.type === 'oauth') {
        process.stdout.write(`${server.name} is not checked, because each person signs in to it.\n`);
        continue;
      }
      try {
        lock.servers[server.name] = lockOf(await listTools(server));
      } catch (error) {
        problems.push(`${server.name}: ${explain(server, error as Error)}`);
      }
    }
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
    if (recorded) problems.push(...drift(recorded, lock, servers));
    if (problems.length > 0) throw new UsageError(problems.join('\n'));
    if (!recorded) writeFileSync(LOCK_FILE, `${JSON.stringify(lock, null, 2)}\n`, { flag: 'wx' });
    const tools = Object.values(lock.servers).reduce((sum, entry) => sum + Object.keys(entry).length, 0);
    const outcome = recorded ? 'as recorded in' : 'written to';
    process.stdout.write(`Servers: ${Object.keys(lock.servers).length}, tools: ${tools}, ${outcome} ${LOCK_FILE}.\n`);
  },
};

/** Throws a UsageError if there are none. */
function serversHere(): GatewayServer[] {
  if (existsSync(SERVERS_FILE)) return readEnabledServers(SERVERS_FILE);
  const servers = checkServers({ mcpServers: readSettings().values.gateway.servers }, 'gateway.servers');
  if (servers.length > 0) return servers;
  throw new UsageError(
    `There is no ${SERVERS_FILE} here, and gateway.servers has no server. Name a file with mcpServers: --config <file>`,
    EXIT_CONFIG,
  );
}

const drift = (recorded: Lock, current: Lock, servers: readonly GatewayServer[]): string[] => [
  ...Object.entries(current.servers).flatMap(([name, tools]) => {
    const before = Object.hasOwn(recorded.servers, name) ? recorded.servers[name] : undefined;
    if (!before) return [`${name}: not in ${LOCK_FILE}`];
    return compareDefinitions(before, tools).map((line) => `${name}: ${line}`);
  }),
  ...Object.keys(recorded.servers)
    .filter((name) => !servers.some((server) => server.name === name))
    .map((name) => `${name}: in ${LOCK_FILE}, but not configured`),
];

function readLock(): Lock | undefined {
  const value = readJson(LOCK_FILE, true);
  if (value === undefined) return undefined;
  const parsed = LockFile.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(`${LOCK_FILE}: ${issue?.path.join('.')}: ${issue?.message}`, EXIT_CONFIG);
}
