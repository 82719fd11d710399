import { application } from '../access/actor.ts';
import { applicationCaller } from '../access/caller.ts';
import { LegateClient, LegateError } from '../client/index.ts';
import { decideTool, type GatewayTool, listPins, toTool } from '../mcp/gateway/index.ts';
import type { Legate } from '../service.ts';
import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { renderTool } from './gateway/render-tool.ts';
import { givenToken } from './login/credentials.ts';
import { readSettings, useExistingData, withLegate } from './settings.ts';

interface Values {
  readonly names?: readonly string[];
  readonly all?: boolean;
  readonly url?: string;
  readonly token?: string;
}

type Tool = Pick<GatewayTool, 'name' | 'state' | 'approved' | 'seen'>;

/** The tools of one server, here or at a running service. */
interface Target {
  /** What the command needs to name this target again. */
  readonly options: string;
  tools(): Promise<readonly Tool[]>;
  /** Approves the definition with this hash. */
  approve(tool: string, definition: string): Promise<unknown>;
}

const MAX_TOOLS = 10_000;

/** `legate gateway approve <server> [<tool> | --all]`: approves tools that the gateway withholds (contract 20). */
export const command: Command<Values> = {
  argument: {
    name: 'names',
    meaning: 'the server, and the tool to approve; without a tool, lists the waiting ones',
    many: true,
  },
  options: {
    all: { type: 'boolean', meaning: 'approve all new and changed tools of the server, but not blocked ones' },
    url: { type: 'string', value: 'address', meaning: 'a running service; by default the database of this folder' },
    token: {
      type: 'string',
      value: 'token',
      meaning: "for --url: an administrator's API token; by default LEGATE_TOKEN",
    },
  },
  notes: 'Each tool is printed with its changes before it is approved.',
  run: async ({ names = [], all = false, url, token }) => {
    const [server, tool] = names;
    if (server === undefined || names.length > 2 || (all && tool !== undefined))
      throw new UsageError(
        'npx legate gateway approve needs the name of a server, and at most one tool, or --all instead.',
        EXIT_USAGE,
      );
    if (url !== undefined && !URL.canParse(url))
      throw new UsageError('--url needs an address such as http://localhost:3000.', EXIT_USAGE);
    const work = (target: Target): Promise<void> => approve(target, server, tool, all);
    if (url !== undefined) return work(remoteTarget(url, tokenOfAdmin(url, token), server));
    const settings = readSettings();
    useExistingData(settings);
    return withLegate(settings, (legate) => work(localTarget(legate, server)));
  },
};

async function approve(target: Target, server: string, name: string | undefined, all: boolean): Promise<void> {
  const tools = await target.tools();
  if (tools.length === 0)
    throw new UsageError(`No tools of ${server} are known. Check the name; a client has to connect to it first.`);
  const waiting = tools.filter(({ state }) => state === 'new' || state === 'changed');
  const chosen = name === undefined ? waiting : tools.filter((tool) => tool.name === name);
  if (name !== undefined && chosen.length === 0) throw new UsageError(`${server} has not listed a tool ${name}.`);
  for (const tool of chosen) process.stdout.write(`${renderTool(tool)}\n`);
  if (name === undefined && !all) {
    process.stdout.write(
      chosen.length === 0
        ? `No tool of ${server} is waiting for approval.\n`
        : `\nWaiting: ${chosen.length}. Approve with npx legate gateway approve ${server} <tool>${target.options}, ` +
            'or --all instead of the tool.\n',
    );
    return;
  }
  for (const tool of chosen) await target.approve(tool.name, tool.seen.hash);
  process.stdout.write(`Approved: ${chosen.length}.\n`);
}

/** No login gives a token for this, because applications have no scope for it. */
function tokenOfAdmin(url: string, option: string | undefined): string {
  const token = givenToken(option);
  if (token !== undefined) return token;
  const page = `${url.replace(/\/$/, '')}/account/tokens`;
  throw new UsageError(
    `--url needs an administrator's API token in LEGATE_TOKEN. Create one with all of your rights at ${page}`,
    EXIT_USAGE,
  );
}

const localTarget = ({ platform }: Legate, server: string): Target => ({
  options: '',
  tools: async () =>
    (await listPins(platform.database.read, server, { limit: MAX_TOOLS, after: undefined })).map(toTool),
  approve: (tool, definition) =>
    decideTool(platform, applicationCaller(application()), { server, tool, definition, decision: 'approve' }),
});

function remoteTarget(url: string, token: string, server: string): Target {
  const { tools } = new LegateClient({ baseUrl: url, token }).gateway.servers;
  const explained = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw error instanceof LegateError ? new UsageError(`${error.code}: ${error.message}`) : error;
    }
  };
  const all = async (): Promise<Tool[]> => {
    const found: Tool[] = [];
    for await (const tool of tools.list(server)) found.push(tool as unknown as Tool);
    return found;
  };
  return {
    options: ` --url ${url}`,
    tools: () => explained(all()),
    approve: (tool, definition) => explained(tools.approve(server, tool, { definition })),
  };
}
