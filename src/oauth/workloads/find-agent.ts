import { sql } from 'kysely';
import { whyInactive } from '../../authorization/agents/index.ts';
import { isId } from '../../kernel/ids.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import type { AssertionClaims, Issuer } from '../../people/federation/index.ts';
import {
  type AgentRow,
  type AgentTrustRow,
  type Database,
  type Db,
  prepared,
  preparedRows,
} from '../../storage/index.ts';
import { matchesPattern } from './subject-pattern.ts';

interface Workload {
  readonly claims: AssertionClaims;
  readonly issuer: Issuer;
  /** Audiences of this service. */
  readonly ownAudiences: readonly string[];
  /** The agent that the request names. */
  readonly agentId: string | undefined;
}

interface Found {
  readonly agent: AgentRow;
  readonly trust: AgentTrustRow;
}

const findAgentRow = prepared((db, id: string) =>
  db
    .selectFrom('agents')
    .selectAll()
    .where('id', '=', id as AgentRow['id'])
    .compile(),
);

const matchingSubject = (db: Db, issuer: string, exact: string, prefixed: string) =>
  db
    .selectFrom('agent_trust')
    .selectAll()
    .where('issuer', '=', issuer)
    .where(({ eb, or, ref }) =>
      or([
        eb('subject', '=', exact),
        eb('subject_prefix', '=', sql<string>`substr(${prefixed}, 1, length(${ref('subject_prefix')}))`),
      ]),
    )
    .orderBy('id');

const findTrust = preparedRows((db, issuer: string, exact: string, prefixed: string) =>
  matchingSubject(db, issuer, exact, prefixed).compile(),
);

const findTrustOfAgent = preparedRows((db, issuer: string, exact: string, prefixed: string, agentId: string) =>
  matchingSubject(db, issuer, exact, prefixed)
    .where('agent_id', '=', agentId as AgentRow['id'])
    .compile(),
);

/** Returns the one active agent that trusts a workload, or the reason why there is none. */
export async function findAgentOfWorkload(
  database: Database,
  db: Db,
  workload: Workload,
  now: number,
): Promise<Found | RefusalReason> {
  const { claims, agentId } = workload;
  if (agentId !== undefined && !isId('agent', agentId)) return 'workload-untrusted';
  const { iss, sub } = claims;
  const matching =
    agentId === undefined
      ? await findTrust(database, db, iss, sub, sub)
      : await findTrustOfAgent(database, db, iss, sub, sub, agentId);
  const named = matching.filter((trust) => hasClaims(trust, claims));
  const trusting = named.filter((trust) => isForUs(trust, workload));
  const ids = [...new Set(trusting.map((trust) => trust.agent_id))];
  if (ids.length === 0) return named.length > 0 ? 'assertion-audience' : 'workload-untrusted';
  const agents: AgentRow[] = [];
  let why: RefusalReason = 'agent-inactive';
  for (const id of ids) {
    const agent = await findAgentRow(database, db, id);
    const inactive = agent ? whyInactive(agent, now) : 'agent-inactive';
    if (agent && inactive === undefined) agents.push(agent);
    else if (inactive === 'owner-suspended') why = inactive;
    if (agents.length > 1) break;
  }
  const [agent, another] = agents;
  if (!agent) return why;
  if (another) return 'workload-ambiguous';
  return { agent, trust: trusting.find((trust) => trust.agent_id === agent.id) as AgentTrustRow };
}

function hasClaims(trust: AgentTrustRow, claims: AssertionClaims): boolean {
  if (!matchesPattern(trust.subject, claims.sub)) return false;
  return Object.entries(JSON.parse(trust.claims) as Record<string, unknown>).every(([name, wanted]) => {
    const given = Object.hasOwn(claims, name) ? claims[name] : undefined;
    return (Array.isArray(given) ? given : [given]).some((value) =>
      typeof wanted === 'string' && typeof value === 'string' ? matchesPattern(wanted, value) : value === wanted,
    );
  });
}

function isForUs(trust: AgentTrustRow, { claims, issuer, ownAudiences }: Workload): boolean {
  const wanted = trust.audience ?? issuer.audience;
  const accepted = wanted === undefined ? ownAudiences : [wanted];
  return [claims.aud ?? []].flat().some((audience) => accepted.includes(audience));
}
