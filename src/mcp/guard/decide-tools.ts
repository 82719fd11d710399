import type { GuardOptions, McpAuth, ToolDecision } from './guard-options.ts';
import { fetchJson } from './issuer-metadata.ts';

interface ToolQuestion {
  readonly tool: string;
  readonly arguments?: Record<string, unknown> | undefined;
}
export interface Origin {
  readonly ip?: string | undefined;
  readonly userAgent?: string | undefined;
}

/** Decisions on the tools of one server. */
export interface ToolDecisions {
  /** Decided, recorded and counted. */
  decide(auth: McpAuth, question: ToolQuestion, origin: Origin): Promise<ToolDecision>;
  /** Which of these could be called at all: neither recorded nor counted. */
  callable(auth: McpAuth, tools: readonly string[]): Promise<Set<string>>;
}

/** With any other reason the tool is still theirs to try: later, elsewhere, with other arguments, or once a person has agreed. */
const NEVER = new Set(['NO_PERMISSION', 'AGENT_REVOKED', 'AGENT_EXPIRED']);
const BATCH = 100;

const isCallable = ({ allowed, reason }: ToolDecision): boolean =>
  allowed || (reason !== undefined && !NEVER.has(reason));

/** undefined: decisions are not wanted. */
export function toolDecisions(options: GuardOptions): ToolDecisions | undefined {
  const { server, action = 'execute' } = options;
  const question = (auth: McpAuth, { tool, arguments: args }: ToolQuestion, { ip, userAgent }: Origin = {}) => ({
    agentId: auth.actorId ?? auth.agentId,
    action: typeof action === 'function' ? action(tool) : action,
    resource: `mcp:${server.name}:${tool}`,
    ...(args === undefined ? {} : { arguments: args }),
    ...(ip === undefined && userAgent === undefined
      ? {}
      : {
          context: {
            ...(ip === undefined ? {} : { ip }),
            ...(userAgent === undefined ? {} : { userAgent: userAgent.slice(0, 512) }),
          },
        }),
  });
  if ('legate' in options) {
    const { legate, decisions = true } = options;
    if (!decisions) return undefined;
    return {
      decide: (auth, asked, origin) => legate.authorize(question(auth, asked, origin)),
      callable: async (auth, tools) => {
        const decided = await Promise.all(
          tools.map((tool) => legate.authorize({ ...question(auth, { tool }), dryRun: true })),
        );
        return new Set(tools.filter((_, i) => isCallable(decided[i] as ToolDecision)));
      },
    };
  }
  const { decisions, fetch = globalThis.fetch } = options;
  if (!decisions) return undefined;
  const post = (path: string, body: unknown): Promise<Record<string, unknown>> =>
    fetchJson(fetch, decisions.url.replace(/\/$/, '') + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${decisions.token}` },
      body: JSON.stringify(body),
    });
  return {
    decide: async (auth, asked, origin) =>
      (await post('/authorize', question(auth, asked, origin))) as unknown as ToolDecision,
    callable: async (auth, tools) => {
      const found = new Set<string>();
      for (let at = 0; at < tools.length; at += BATCH) {
        const some = tools.slice(at, at + BATCH);
        const { results } = await post('/authorize/batch', {
          requests: some.map((tool) => ({ ...question(auth, { tool }), dryRun: true })),
        });
        for (const [i, result] of (results as ToolDecision[]).entries())
          if (isCallable(result)) found.add(some[i] as string);
      }
      return found;
    },
  };
}
