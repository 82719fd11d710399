/**
 * Sections 6 and 7 of the contract as a program that follows their text: without index, cache or database, it tries
 * every chain from the start. Tests compare the responses of the service with those of this model.
 */

export interface ModelPermission {
  readonly resource: string;
  readonly actions: readonly string[];
  readonly constraints?: {
    readonly maxCallsPerHour?: number;
    readonly timeWindow?: { readonly start: string; readonly end: string };
    readonly ipAllowlist?: readonly string[];
  };
}

export interface ModelAgent {
  readonly id: string;
  readonly ownerId: string;
  readonly tenantId: string | null;
  permissions: readonly ModelPermission[];
  expiresAt: number | null;
  revoked: boolean;
}

export interface ModelDelegation {
  readonly id: string;
  readonly from: ModelAgent;
  readonly to: ModelAgent;
  readonly permissions: readonly ModelPermission[];
  readonly depth: number;
  readonly maxDepth: number;
  readonly expiresAt: number | null;
  /** Whether it passes on the source's own permissions. Otherwise it passes on delegations that the source received. */
  readonly fromOwn: boolean;
  readonly parents: readonly ModelDelegation[];
  revoked: boolean;
}

export interface ModelAsk {
  readonly action: string;
  readonly resource: string;
  readonly ip: string | null;
}

/** One entry of a chain. `by` is its delegation, or the agent that has the entry itself. */
interface Step {
  readonly by: ModelDelegation | ModelAgent;
  readonly permission: ModelPermission;
}
type Chain = readonly Step[];

export type ModelDecision =
  | { readonly allowed: true; readonly delegationIds: readonly string[] }
  | { readonly allowed: false /** Any of these codes is correct. */; readonly reasons: ReadonlySet<string> };

const isDelegation = (by: Step['by']): by is ModelDelegation => 'from' in by;
const links = (chain: Chain): ModelDelegation[] => chain.map((s) => s.by).filter(isDelegation);

/**
 * "`*` as the last segment matches one or more remaining segments; as a middle segment exactly one", none of them
 * empty.
 */
export function matches(pattern: string, resource: string): boolean {
  const p = pattern.split(':');
  const r = resource.split(':');
  const open = p.at(-1) === '*';
  if (open ? r.length < p.length : r.length !== p.length) return false;
  if (pattern === '*') return true;
  return r.every((segment, i) => {
    const wanted = p[Math.min(i, p.length - 1)];
    return wanted === '*' ? segment !== '' : segment === wanted;
  });
}

/**
 * A pattern covers another if it matches its most general resources: with unused names, and with one and several
 * segments for an open end.
 */
export function covers(outer: string, inner: string): boolean {
  const open = inner.endsWith('*');
  const general = inner.replaceAll('*', '?');
  return matches(outer, general) && (!open || matches(outer, `${general}:?`));
}

export class Model {
  now: number;
  readonly agents: ModelAgent[] = [];
  readonly delegations: ModelDelegation[] = [];
  readonly #used = new Map<string, number>();

  constructor(now: number) {
    this.now = now;
  }

  status(agent: ModelAgent): 'active' | 'revoked' | 'expired' {
    if (agent.revoked) return 'revoked';
    return agent.expiresAt !== null && this.now >= agent.expiresAt ? 'expired' : 'active';
  }

  /** "It ends at once when any link is revoked or expired": by itself, or with the last of its sources. */
  isActive(d: ModelDelegation): boolean {
    if (d.revoked || (d.expiresAt !== null && this.now >= d.expiresAt)) return false;
    return d.fromOwn || d.parents.some((parent) => this.isActive(parent));
  }

  activeDelegations(): ModelDelegation[] {
    return this.delegations.filter((d) => this.isActive(d));
  }

  /** "Returns active delegation chains": all agents of the chain must be active too. */
  isListed(d: ModelDelegation): boolean {
    if (!this.isActive(d) || this.status(d.from) !== 'active' || this.status(d.to) !== 'active') return false;
    return d.fromOwn || d.parents.some((parent) => this.isListed(parent));
  }

  /**
   * Returns the chains through which an agent has an action on resources that `fits` accepts, in the order in which
   * they are tried: own entries, then received ones by age.
   */
  #chains(agent: ModelAgent, action: string, fits: (pattern: string) => boolean): Chain[] {
    if (this.status(agent) !== 'active') return [];
    const grants = (p: ModelPermission): boolean =>
      fits(p.resource) && (p.actions.includes('*') || p.actions.includes(action));
    const own = agent.permissions.filter(grants).map((permission): Chain => [{ by: agent, permission }]);
    const received = this.delegations
      .filter((d) => d.to === agent && this.isActive(d))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .flatMap((d) =>
        d.permissions
          .filter(grants)
          .flatMap((permission) =>
            this.#chains(d.from, action, fits).map((above): Chain => [{ by: d, permission }, ...above]),
          ),
      );
    return [...own, ...received];
  }

  /** "`maxDepth` is the greatest depth that any delegation of this chain may have; an ancestor's lower value wins." */
  #withinDepth(chain: Chain, further: readonly number[] = []): boolean {
    return (
      links(chain).length + further.length <=
      Math.min(Number.POSITIVE_INFINITY, ...links(chain).map((d) => d.maxDepth), ...further)
    );
  }

  decide(agent: ModelAgent, ask: ModelAsk): ModelDecision {
    const status = this.status(agent);
    if (status !== 'active')
      return { allowed: false, reasons: new Set([status === 'revoked' ? 'AGENT_REVOKED' : 'AGENT_EXPIRED']) };
    const reasons = new Set<string>();
    for (const chain of this.#chains(agent, ask.action, (pattern) => matches(pattern, ask.resource))) {
      if (!this.#withinDepth(chain)) continue;
      const unmet = this.#unmet(chain, ask);
      if (unmet.length === 0)
        return {
          allowed: true,
          delegationIds: links(chain)
            .map((d) => d.id)
            .reverse(),
        };
      for (const reason of unmet) reasons.add(reason);
    }
    return { allowed: false, reasons: reasons.size > 0 ? reasons : new Set(['NO_PERMISSION']) };
  }

  /**
   * The decision, which is counted: "a call through a chain takes from the counter of every capped entry on the chain".
   */
  call(agent: ModelAgent, ask: ModelAsk): ModelDecision {
    const decision = this.decide(agent, ask);
    if (!decision.allowed) return decision;
    const chain = this.#chains(agent, ask.action, (pattern) => matches(pattern, ask.resource)).find(
      (c) => this.#withinDepth(c) && this.#unmet(c, ask).length === 0,
    ) as Chain;
    for (const step of chain)
      if (step.permission.constraints?.maxCallsPerHour !== undefined)
        this.#used.set(this.#counter(step), this.#count(step) + 1);
    return decision;
  }

  /** "Counter per agent and permission entry, clock hour UTC." */
  #counter({ by, permission }: Step): string {
    return [by.id, permission.resource, [...permission.actions].sort(), Math.floor(this.now / 3_600_000)].join(' ');
  }
  #count(step: Step): number {
    return this.#used.get(this.#counter(step)) ?? 0;
  }

  /** The constraints of every link apply, caps last. */
  #unmet(chain: Chain, ask: ModelAsk): string[] {
    const out: string[] = [];
    for (const { permission } of chain) {
      const { timeWindow, ipAllowlist } = permission.constraints ?? {};
      if (timeWindow && !this.#isWithin(timeWindow)) out.push('OUTSIDE_TIME_WINDOW');
      if (ipAllowlist && !ipAllowlist.includes(ask.ip ?? '')) out.push('IP_NOT_ALLOWED');
    }
    if (out.length > 0) return out;
    return chain.some(
      (step) => this.#count(step) >= (step.permission.constraints?.maxCallsPerHour ?? Number.POSITIVE_INFINITY),
    )
      ? ['RATE_LIMITED']
      : [];
  }

  #isWithin({ start, end }: { start: string; end: string }): boolean {
    const time = new Date(this.now).toISOString().slice(11, 16);
    return start < end ? start <= time && time < end : start <= time || time < end;
  }

  /** Returns the expected response of POST /delegations: the acceptable codes, or the delegation. */
  create(
    caller: { readonly userId: string } | { readonly agent: ModelAgent } | 'admin',
    input: {
      from: ModelAgent;
      to: ModelAgent;
      permissions: readonly ModelPermission[];
      expiresAt: number | null;
      maxDepth: number | undefined;
    },
  ): { readonly codes: ReadonlySet<string> } | Omit<ModelDelegation, 'id'> {
    const { from, to, permissions, expiresAt } = input;
    const maxDepth = input.maxDepth ?? 3;
    const may = caller === 'admin' || ('agent' in caller ? caller.agent === from : caller.userId === from.ownerId);
    if (!may) return { codes: new Set(['AGENT_NOT_FOUND']) };
    const near = to.ownerId === from.ownerId || (to.tenantId !== null && to.tenantId === from.tenantId);
    if (!near && caller !== 'admin') return { codes: new Set(['AGENT_NOT_FOUND']) };

    const codes = new Set<string>();
    if (from === to) codes.add('DELEGATION_TO_SELF');
    if (!near) codes.add('DELEGATION_OUTSIDE_TENANT');
    if (this.status(from) !== 'active' || this.status(to) !== 'active') codes.add('AGENT_NOT_ACTIVE');
    if (expiresAt !== null && expiresAt <= this.now) codes.add('EXPIRES_AT_IN_PAST');
    if (this.#gives(to, from)) codes.add('DELEGATION_CYCLE');
    let fromOwn = false;
    let longest = 0;
    const parents = new Set<ModelDelegation>();
    for (const { resource, actions } of permissions) {
      for (const action of actions) {
        const all = this.#chains(from, action, (pattern) => covers(pattern, resource)).filter((c) =>
          this.#withinDepth(c),
        );
        const usable = all.filter((c) => this.#withinDepth(c, [maxDepth]));
        if (all.length === 0) codes.add('INSUFFICIENT_PERMISSIONS');
        else if (usable.length === 0) codes.add('DELEGATION_DEPTH_EXCEEDED');
        else if (usable.some((c) => links(c).length === 0)) fromOwn = true;
        else {
          for (const chain of usable) {
            parents.add(links(chain)[0] as ModelDelegation);
            longest = Math.max(longest, links(chain).length);
          }
        }
      }
    }
    return codes.size > 0
      ? { codes }
      : {
          from,
          to,
          permissions,
          depth: longest + 1,
          maxDepth,
          expiresAt,
          fromOwn,
          parents: [...parents],
          revoked: false,
        };
  }

  /** Returns whether `giver` delegates to `agent`, directly or through others. */
  #gives(giver: ModelAgent, agent: ModelAgent): boolean {
    return this.activeDelegations().some((d) => d.to === agent && (d.from === giver || this.#gives(giver, d.from)));
  }

  /** "Revoking ends the delegation and all that descend from it, nothing else": returns these, each with its event. */
  revoke(ended: readonly ModelDelegation[]): ModelDelegation[] {
    const before = this.activeDelegations();
    for (const d of ended) d.revoked = true;
    return before.filter((d) => !this.isActive(d));
  }

  revokeAgent(agent: ModelAgent): ModelDelegation[] {
    agent.revoked = true;
    return this.revoke(this.delegations.filter((d) => d.from === agent || d.to === agent));
  }
}
