import { sql } from 'kysely';
import { whyInactive } from '../../authorization/agents/index.ts';
import { isId } from '../../kernel/ids.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import type { AssertionClaims, Issuer } from '../../people/federation/index.ts';
import { type AgentRow, type AgentTrustRow, type Database, type Db, preparedRows } from '../../storage/index.ts';
import { matchesPattern } from './subject-pattern.ts';

interface Workload {
  readonly claims: AssertionClaims;
  readonly issuer: Issuer;
  /** Audiences of this service. */
  readonly ownAudiences: readonly string[];
  /** The agent that the request names. */
  readonly agentId: string | undefined;
}

/** A workload that an agent trusts, with what is needed of the agent. */
type Trust = Pick<AgentTrustRow, 'id' | 'subject' | 'audience' | 'claims' | 'agent_id'> &
  Pick<AgentRow, 'owner_id' | 'revoked_at' | 'expires_at' | 'owner_suspended'>;

const trustsOf = (db: Db, issuer: string) =>
  db
    .selectFrom('agent_trust')
    .innerJoin('agents', 'agents.id', 'agent_trust.agent_id')
    .select(['agent_trust.id as id', 'agent_trust.subject', 'agent_trust.audience', 'agent_trust.claims'])
    .select(['agent_id', 'owner_id', 'revoked_at', 'expires_at', 'owner_suspended'])
    .where('issuer', '=', issuer);

const withSubject = (db: Db, issuer: string, subject: string) =>
  trustsOf(db, issuer).where('subject', '=', subject).where('subject_prefix', 'is', null);

const withPrefixOf = (db: Db, issuer: string, subject: string) =>
  trustsOf(db, issuer)
    // Always true next to the other condition, but lets the index skip the subjects without a pattern.
    .where('subject_prefix', '>=', sql.lit(''))
    .where(({ eb, ref }) =>
      eb('subject_prefix', '=', sql<string>`substr(${subject}, 1, length(${ref('subject_prefix')}))`),
    );

// One query with `or` would read every trust of the issuer.
const findTrust = preparedRows<[string, string, string, string], Trust>((db, issuer, subject, again, prefixed) =>
  withSubject(db, issuer, subject)
    .unionAll(withPrefixOf(db, again, prefixed))
    .orderBy('id')
    .compile(),
);

/** An agent trusts few workloads. */
const findTrustOfAgent = preparedRows<[string, string], Trust>((db, issuer, agentId) =>
  trustsOf(db, issuer)
    .where('agent_id', '=', agentId as AgentRow['id'])
    .orderBy('agent_trust.id')
    .compile(),
);

/** Returns the trust of the one active agent that trusts a workload, or the reason why there is none. */
export async function findAgentOfWorkload(
  database: Database,
  db: Db,
  workload: Workload,
  now: number,
): Promise<Trust | RefusalReason> {
  const { claims, agentId } = workload;
  if (agentId !== undefined && !isId('agent', agentId)) return 'workload-untrusted';
  const { iss, sub } = claims;
  const matching =
    agentId === undefined
      ? await findTrust(database, db, iss, sub, iss, sub)
      : await findTrustOfAgent(database, db, iss, agentId);
  const named = matching.filter((trust) => hasClaims(trust, claims));
  const trusting = named.filter((trust) => isForUs(trust, workload));
  if (trusting.length === 0) return named.length > 0 ? 'assertion-audience' : 'workload-untrusted';
  const [found, ...others] = trusting.filter((trust) => whyInactive(trust, now) === undefined);
  if (!found)
    return trusting.some((trust) => whyInactive(trust, now) === 'owner-suspended')
      ? 'owner-suspended'
      : 'agent-inactive';
  return others.every(({ agent_id }) => agent_id === found.agent_id) ? found : 'workload-ambiguous';
}

function hasClaims(trust: Trust, claims: AssertionClaims): boolean {
  if (!matchesPattern(trust.subject, claims.sub)) return false;
  return Object.entries(JSON.parse(trust.claims) as Record<string, unknown>).every(([name, wanted]) => {
    const given = Object.hasOwn(claims, name) ? claims[name] : undefined;
    return (Array.isArray(given) ? given : [given]).some((value) =>
      typeof wanted === 'string' && typeof value === 'string' ? matchesPattern(wanted, value) : value === wanted,
    );
  });
}

function isForUs(trust: Trust, { claims, issuer, ownAudiences }: Workload): boolean {
  const wanted = trust.audience ?? issuer.audience;
  const accepted = wanted === undefined ? ownAudiences : [wanted];
  return [claims.aud ?? []].flat().some((audience) => accepted.includes(audience));
}
