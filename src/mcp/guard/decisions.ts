import type { Question } from './asks.ts';
import type { Decision, GuardOptions, McpAuth } from './guard-options.ts';
import { fetchJson } from './issuer-metadata.ts';

export interface Origin {
  readonly ip?: string | undefined;
  readonly userAgent?: string | undefined;
}

/** Decisions about one server. */
export interface Decisions {
  /** Makes a decision, which is recorded and counted. */
  decide(auth: McpAuth, question: Question, origin: Origin): Promise<Decision>;
  /** Returns which questions could be allowed at all, with dry runs. */
  permitted(auth: McpAuth, questions: readonly Question[]): Promise<boolean[]>;
  /** Returns the status of an approval, or undefined if it cannot be read. */
  approvalStatus(id: string): Promise<string | undefined>;
  /** Returns the URL of the approval page, or undefined if it is unknown. */
  approvalUrl(id: string): string | undefined;
}

/** Reasons that the caller cannot change. With any other reason it may try later, elsewhere, or after an approval. */
const NEVER = new Set(['NO_PERMISSION', 'AGENT_REVOKED', 'AGENT_EXPIRED', 'OWNER_SUSPENDED']);
const BATCH = 100;

/** Other arguments may be allowed, unless the question names them. */
const isPossible = ({ allowed, reason }: Decision, { arguments: args }: Question): boolean =>
  allowed ||
  (reason !== undefined && !NEVER.has(reason) && !(args !== undefined && reason === 'ARGUMENTS_NOT_ALLOWED'));

/** Returns undefined if decisions are switched off. */
export function decisionsOf(options: GuardOptions): Decisions | undefined {
  const { server, action = 'execute', readAction = 'read' } = options;
  const actionOn = ({ name, reads }: Question): string =>
    reads ? readAction : typeof action === 'function' ? action(name) : action;
  const asked = (auth: McpAuth, question: Question, { ip, userAgent }: Origin = {}) => ({
    agentId: auth.actorId ?? auth.agentId,
    action: actionOn(question),
    resource: `mcp:${server.name}:${question.name}`,
    ...(question.arguments === undefined ? {} : { arguments: question.arguments }),
    ...(ip === undefined && userAgent === undefined
      ? {}
      : {
          context: {
            ...(ip === undefined ? {} : { ip }),
            ...(userAgent === undefined ? {} : { userAgent: userAgent.slice(0, 512) }),
          },
        }),
  });
  const accountPage = (rest: string, id: string): string =>
    `${rest.replace(/\/$/, '')}/account/approvals/${encodeURIComponent(id)}`;

  if ('legate' in options) {
    const { legate, decisions = true } = options;
    if (!decisions) return undefined;
    const { baseUrl, config } = legate.platform;
    return {
      decide: (auth, question, origin) => legate.authorize(asked(auth, question, origin)),
      permitted: (auth, questions) =>
        Promise.all(
          questions.map(async (question) =>
            isPossible(await legate.authorize({ ...asked(auth, question), dryRun: true }), question),
          ),
        ),
      approvalStatus: async (id) => (await legate.approvals?.get(id).catch(() => undefined))?.status,
      approvalUrl: (id) =>
        baseUrl === undefined ? undefined : accountPage(baseUrl + (config?.http.restPath ?? ''), id),
    };
  }
  const { decisions, fetch = globalThis.fetch } = options;
  if (!decisions) return undefined;
  const rest = decisions.url.replace(/\/$/, '');
  const headers = { authorization: `Bearer ${decisions.token}` };
  const post = (path: string, body: unknown): Promise<Record<string, unknown>> =>
    fetchJson(fetch, rest + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  return {
    decide: async (auth, question, origin) =>
      (await post('/authorize', asked(auth, question, origin))) as unknown as Decision,
    permitted: async (auth, questions) => {
      const found: boolean[] = [];
      for (let at = 0; at < questions.length; at += BATCH) {
        const some = questions.slice(at, at + BATCH);
        const { results } = await post('/authorize/batch', {
          requests: some.map((question) => ({ ...asked(auth, question), dryRun: true })),
        });
        for (const [i, result] of (results as Decision[]).entries())
          found.push(isPossible(result, some[i] as Question));
      }
      return found;
    },
    approvalStatus: async (id) => {
      const approval = await fetchJson(fetch, `${rest}/approvals/${encodeURIComponent(id)}`, { headers }).catch(
        () => undefined,
      );
      return typeof approval?.['status'] === 'string' ? approval['status'] : undefined;
    },
    approvalUrl: (id) => accountPage(rest, id),
  };
}
