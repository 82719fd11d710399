import type { Visibility } from '../../access/principal.ts';
import { toKnownError } from '../../http/render-error.ts';
import { CommonErrors, LegateError } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { agentsOfStatus } from '../agents/agent-state.ts';
import { AgentErrors } from '../agents/errors.ts';
import { type Asker, type AuthorizeInput, authorize } from './authorize.ts';
import type { PermissionSource } from './schema.ts';

/** Agents decided in one slice, and at most for one page. */
const SLICE = 250;
const MAX_EXAMINED = 5000;

type SubjectQuestion = Pick<AuthorizeInput, 'action' | 'resource' | 'arguments' | 'context'>;

interface Subject {
  readonly id: Id<'agent'>;
  readonly name: string;
  readonly ownerId: string;
}

export interface SubjectFound extends Subject {
  /** How the agent holds the permission. */
  readonly via: PermissionSource;
}

/**
 * Returns the visible agents that may do this now. Each is decided as a dry run, so limits, conditions, budgets and
 * chains apply, and nothing is recorded. In order of creation. A page ends early after 5,000 agents: it then has a
 * `next`, even with fewer than `limit` agents.
 */
export async function findSubjects(
  platform: Platform,
  asker: Asker,
  visibility: Visibility,
  question: SubjectQuestion,
  page: { limit: number; after: Id<'agent'> | undefined },
): Promise<{ agents: SubjectFound[]; next: Id<'agent'> | undefined }> {
  const found: SubjectFound[] = [];
  let after = page.after;
  for (let examined = 0; examined < MAX_EXAMINED; examined += SLICE) {
    const slice = await activeAgents(platform, visibility, after, SLICE);
    const chains: (readonly string[] | undefined)[] = [];
    const ask = ({ id }: Subject, i: number) =>
      authorize(platform, asker, { ...question, agentId: id, dryRun: true }, (chain) => {
        chains[i] = chain;
      });
    const answers = await Promise.all(
      slice.map((agent, i) => ask(agent, i).catch((error: unknown) => ignoreGone(platform, error))),
    );
    for (const [i, agent] of slice.entries()) {
      if (answers[i]?.allowed !== true) continue;
      const chain = chains[i] ?? [];
      found.push({
        ...agent,
        via: chain.length === 0 ? { type: 'own' } : { type: 'delegation', delegationIds: [...chain] },
      });
      if (found.length === page.limit)
        return { agents: found, next: i < slice.length - 1 || slice.length === SLICE ? agent.id : undefined };
    }
    if (slice.length < SLICE) return { agents: found, next: undefined };
    after = slice.at(-1)?.id;
  }
  return { agents: found, next: after };
}

/**
 * Skips an agent that ended, or became invisible to the caller, after it was listed, and one whose permissions were
 * damaged in the database, which the log names.
 */
function ignoreGone(platform: Pick<Platform, 'clock' | 'log'>, error: unknown): undefined {
  if (error instanceof LegateError && error.code === AgentErrors.AGENT_NOT_FOUND.code) return undefined;
  if (error instanceof LegateError && error.code === CommonErrors.INTERNAL_ERROR.code) {
    toKnownError(platform, error);
    return undefined;
  }
  throw error;
}

async function activeAgents(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  visibility: Visibility,
  after: Id<'agent'> | undefined,
  limit: number,
): Promise<Subject[]> {
  const now = clock.now();
  let query = database.read
    .selectFrom('agents')
    .select(['id', 'name', 'owner_id as ownerId'])
    .where(agentsOfStatus('active', now));
  if (visibility.kind === 'owner') query = query.where('owner_id', '=', visibility.userId);
  if (visibility.kind === 'agent') query = query.where('id', '=', visibility.agentId);
  if (after !== undefined) query = query.where('id', '>', after);
  return query.orderBy('id').limit(limit).execute();
}
