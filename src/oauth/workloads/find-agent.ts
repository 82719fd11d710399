import { mayAct } from '../../authorization/agents/index.ts';
import { isId } from '../../kernel/ids.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import type { AssertionClaims, Issuer } from '../../people/federation/index.ts';
import { type AgentRow, type AgentTrustRow, type Database, type Db, prepared } from '../../storage/index.ts';
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

/** Returns the one active agent that trusts a workload, or why there is none. */
export async function findAgentOfWorkload(
  database: Database,
  db: Db,
  workload: Workload,
  now: number,
): Promise<Found | RefusalReason> {
  const { claims, agentId } = workload;
  if (agentId !== undefined && !isId('agent', agentId)) return 'workload-untrusted';
  let query = db
    .selectFrom('agent_trust')
    .selectAll()
    .where('issuer', '=', claims.iss)
    .where(({ eb, or, fn, val, ref }) =>
      or([
        eb('subject', '=', claims.sub),
        eb(
          'subject_prefix',
          '=',
          fn<string>('substr', [val(claims.sub), val(1), fn<number>('length', [ref('subject_prefix')])]),
        ),
      ]),
    );
  if (agentId !== undefined) query = query.where('agent_id', '=', agentId);
  const named = (await query.orderBy('id').execute()).filter((trust) => hasClaims(trust, claims));
  const trusting = named.filter((trust) => isForUs(trust, workload));
  const ids = [...new Set(trusting.map((trust) => trust.agent_id))];
  if (ids.length === 0) return named.length > 0 ? 'assertion-audience' : 'workload-untrusted';
  const agents: AgentRow[] = [];
  for (const id of ids) {
    const agent = await findAgentRow(database, db, id);
    if (agent && mayAct(agent, now)) agents.push(agent);
    if (agents.length > 1) break;
  }
  const [agent, another] = agents;
  if (!agent) return 'agent-inactive';
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
