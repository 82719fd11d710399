import type { Question } from './asks.ts';
import type { Decision, GuardOptions, McpAuth } from './guard-options.ts';
import { fetchJson, warning } from './issuer-metadata.ts';

export interface Origin {
  readonly ip?: string | undefined;
  readonly userAgent?: string | undefined;
}

/** Decisions about one server. */
export interface Decisions {
  /** Makes a decision, which is recorded and counted. */
  decide(auth: McpAuth, question: Question, origin: Origin): Promise<Decision>;
  /** Returns what would be decided now, by dry runs; undefined for a question that is too large for the service. */
  foresee(auth: McpAuth, questions: readonly Question[], origin: Origin): Promise<(Decision | undefined)[]>;
  /** Returns the questions that could be allowed at all, by dry runs. */
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

const arePossible = (foreseen: readonly (Decision | undefined)[], questions: readonly Question[]): boolean[] =>
  foreseen.map((decision, i) => decision !== undefined && isPossible(decision, questions[i] as Question));

/** A question that is not decided, because its name or its arguments exceed the limits of the service. */
export class Undecidable extends Error {}

const TOO_LARGE = new Set<unknown>([400, 413]);
const asUndecidable = (error: unknown): never => {
  if (TOO_LARGE.has((error as { status?: unknown }).status))
    throw new Undecidable('The question exceeds the limits of the service.', { cause: error });
  throw error;
};
const unlessUndecidable = (error: unknown): undefined => {
  if (error instanceof Undecidable) return undefined;
  throw error;
};

/** Returns undefined if decisions are switched off. */
export function decisionsOf(options: GuardOptions): Decisions | undefined {
  const { server, action = 'execute', readAction = 'read' } = options;
  const actionOn = ({ name, reads }: Question): string =>
    reads ? readAction : typeof action === 'function' ? action(name) : action;
  const asked = (auth: McpAuth, question: Question, { ip, userAgent }: Origin = {}) => ({
    agentId: auth.actorId ?? auth.agentId,
    action: actionOn(question),
    resource: `mcp:${server.name}:${question.name}`,
    ...(question.arguments !== undefined && { arguments: question.arguments }),
    ...((ip !== undefined || userAgent !== undefined) && {
      context: {
        ...(ip !== undefined && { ip }),
        ...(userAgent !== undefined && { userAgent: userAgent.slice(0, 512) }),
      },
    }),
  });
  const accountPage = (rest: string, id: string): string =>
    `${rest.replace(/\/$/, '')}/account/approvals/${encodeURIComponent(id)}`;

  if ('legate' in options) {
    const { legate, decisions = true } = options;
    if (!decisions) return undefined;
    const { baseUrl, config } = legate.platform;
    const foresee = (auth: McpAuth, questions: readonly Question[], origin?: Origin) =>
      Promise.all(
        questions.map((question) =>
          legate
            .authorize({ ...asked(auth, question, origin), dryRun: true }, auth.token)
            .catch(asUndecidable)
            .catch(unlessUndecidable),
        ),
      );
    return {
      decide: (auth, question, origin) =>
        legate.authorize(asked(auth, question, origin), auth.token).catch(asUndecidable),
      foresee,
      permitted: async (auth, questions) => arePossible(await foresee(auth, questions), questions),
      approvalStatus: async (id) => (await legate.approvals?.get(id).catch(() => undefined))?.status,
      approvalUrl: (id) =>
        baseUrl === undefined ? undefined : accountPage(baseUrl + (config?.http.restPath ?? ''), id),
    };
  }
  const { decisions, fetch = globalThis.fetch } = options;
  if (!decisions) return undefined;
  if (!decisions.token) throw new TypeError('protectMcp: decisions.token is missing.');
  const rest = decisions.url.replace(/\/$/, '');
  const headers = { authorization: `Bearer ${decisions.token}` };
  const post = (path: string, body: unknown): Promise<Record<string, unknown>> =>
    warning(
      fetchJson(fetch, rest + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }).catch(asUndecidable),
    );
  /** If the service refuses a batch, each half is asked on its own, down to the question that is too large. */
  const foreseeBatch = async (
    auth: McpAuth,
    questions: readonly Question[],
    origin: Origin | undefined,
  ): Promise<(Decision | undefined)[]> => {
    try {
      const { results } = await post('/authorize/batch', {
        requests: questions.map((question) => ({ ...asked(auth, question, origin), dryRun: true })),
      });
      return results as Decision[];
    } catch (error) {
      unlessUndecidable(error);
      if (questions.length === 1) return [undefined];
      const half = questions.length >> 1;
      const first = await foreseeBatch(auth, questions.slice(0, half), origin);
      return [...first, ...(await foreseeBatch(auth, questions.slice(half), origin))];
    }
  };
  const foresee = async (auth: McpAuth, questions: readonly Question[], origin?: Origin) => {
    const found: (Decision | undefined)[] = [];
    for (let at = 0; at < questions.length; at += BATCH)
      found.push(...(await foreseeBatch(auth, questions.slice(at, at + BATCH), origin)));
    return found;
  };
  return {
    decide: async (auth, question, origin) =>
      (await post('/authorize', asked(auth, question, origin))) as unknown as Decision,
    foresee,
    permitted: async (auth, questions) => arePossible(await foresee(auth, questions), questions),
    approvalStatus: async (id) => {
      const approval = await fetchJson(fetch, `${rest}/approvals/${encodeURIComponent(id)}`, { headers }).catch(
        () => undefined,
      );
      return typeof approval?.['status'] === 'string' ? approval['status'] : undefined;
    },
    approvalUrl: (id) => accountPage(rest, id),
  };
}
