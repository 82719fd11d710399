import { isoTime } from '../../src/kernel/clock.ts';
import { type As, type Command, describeAgents, describeCommand, type History, NAMES, OWNERS } from './histories.ts';
import { Model, type ModelAgent, type ModelDelegation, matches } from './model.ts';
import type { Json, TestUser } from './service.ts';
import type { World } from './world.ts';

export const MINUTE = 60_000;

export interface HistoryWorld extends Pick<World, 't'> {
  readonly users: Readonly<Record<'alice' | 'bob' | 'carol' | 'admin', TestUser>>;
  /** Counts of what happened in all histories, to check that they cover enough. */
  readonly seen: Map<string, number>;
}

/** Runs one history on the service and on the model, which must agree after every step. */
export class Run {
  readonly #w: HistoryWorld;
  readonly #h: History;
  readonly #model: Model;
  readonly #tokens = new Map<ModelAgent, string>();
  readonly #log: string[] = [];
  #seq = 0;

  constructor(w: HistoryWorld, h: History) {
    this.#w = w;
    this.#h = h;
    // Each history starts at ten past ten on the next day, so histories do not share clock hours.
    w.t.clock.set(`${isoTime(w.t.clock.now() + 24 * 60 * MINUTE).slice(0, 10)}T10:10:00.000Z`);
    this.#model = new Model(w.t.clock.now());
  }

  async play(): Promise<void> {
    const { t, users } = this.#w;
    const made = await Promise.all(
      this.#h.agents.map((permissions, i) =>
        t.legate.agents.create({
          ownerId: users[OWNERS[i] as 'alice'].id,
          name: NAMES[i] as string,
          type: 'autonomous',
          permissions: permissions as Json,
        }),
      ),
    );
    for (const [i, { id, token, ownerId }] of made.entries()) {
      const agent: ModelAgent = {
        id,
        ownerId,
        tenantId: OWNERS[i] === 'carol' ? null : 'theirs',
        permissions: this.#h.agents[i] as ModelAgent['permissions'],
        expiresAt: null,
        revoked: false,
      };
      this.#model.agents.push(agent);
      this.#tokens.set(agent, token);
    }
    this.#seq = await this.#lastSeq();
    await this.#compare();
    for (const command of this.#h.commands) {
      this.#log.push(describeCommand(command));
      await this.#step(command);
      await this.#compare(command.do !== 'call' && command.do !== 'permit');
    }
    await this.#compareHoldings();
  }

  /** Checks that listed permissions match decisions, except for their constraints. */
  async #compareHoldings(): Promise<void> {
    for (const agent of this.#model.agents) {
      const held = await this.#w.t.legate.agents.permissions(agent.id);
      for (const ask of this.#h.questions) {
        const decision = this.#model.decide(agent, ask);
        const some = held.some(
          (p) => matches(p.resource, ask.resource) && (p.actions.includes('*') || p.actions.includes(ask.action)),
        );
        this.#agree(
          `does ${this.#name(agent.id)} hold ${ask.action} ${ask.resource}?`,
          some,
          decision.allowed || !(decision.reasons.has('NO_PERMISSION') || this.#model.status(agent) !== 'active'),
        );
      }
    }
  }

  #agree(what: string, service: unknown, model: unknown): void {
    if (JSON.stringify(service) === JSON.stringify(model)) return;
    const lines = [...describeAgents(this.#h), ...this.#log.map((line, i) => `${i + 1}. ${line}`)];
    throw new Error(
      `${what}\n  service: ${JSON.stringify(service)}\n  model:   ${JSON.stringify(model)}\nafter\n` +
        `  ${lines.join('\n  ')}\n`,
    );
  }

  #count(what: string): void {
    this.#w.seen.set(what, (this.#w.seen.get(what) ?? 0) + 1);
  }

  #agent(i: number): ModelAgent {
    return this.#model.agents[i] as ModelAgent;
  }

  #name(id: string): string {
    const at = this.#model.agents.findIndex((a) => a.id === id);
    return at >= 0 ? (NAMES[at] as string) : `delegation ${this.#model.delegations.findIndex((d) => d.id === id)}`;
  }

  async #step(c: Command): Promise<void> {
    const { t } = this.#w;
    const model = this.#model;
    switch (c.do) {
      case 'wait':
        t.clock.advance(c.minutes * MINUTE);
        model.now = t.clock.now();
        return;
      case 'permit':
        return this.#patch(this.#agent(c.agent), { permissions: c.permissions });
      case 'expire':
        return this.#patch(this.#agent(c.agent), {
          expiresAt: c.minutes === null ? null : model.now + c.minutes * MINUTE,
        });
      case 'revoke agent': {
        await t.legate.agents.revoke(this.#agent(c.agent).id);
        const agent = this.#agent(c.agent);
        if (agent.revoked) return this.#events([]);
        return this.#events(
          model
            .revokeAgent(agent)
            .map((d) => this.#revoked(d, d.from === agent || d.to === agent ? 'agent-revoked' : 'ancestor-revoked')),
        );
      }
      case 'call':
        return this.#call(c);
      case 'delegate':
        return this.#delegate(c);
      case 'revoke':
        return this.#revoke(c);
    }
  }

  async #patch(
    agent: ModelAgent,
    change: { permissions?: ModelAgent['permissions']; expiresAt?: number | null },
  ): Promise<void> {
    const { expiresAt } = change;
    const body = {
      ...change,
      ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === null ? null : isoTime(expiresAt) }),
    };
    const r = await this.#w.t.call('PATCH', `/agents/${agent.id}`, { as: this.#w.users.admin, body });
    this.#agree('PATCH', r.body.error?.code ?? r.status, agent.revoked ? 'AGENT_REVOKED' : 200);
    if (!agent.revoked) Object.assign(agent, change);
  }

  async #call({ agent: i, question, times }: Extract<Command, { do: 'call' }>): Promise<void> {
    const agent = this.#agent(i);
    const ask = this.#h.questions[question % this.#h.questions.length] as History['questions'][number];
    for (let n = 0; n < times; n++) {
      const answer = await this.#w.t.legate.authorize({
        agentId: agent.id,
        action: ask.action,
        resource: ask.resource,
        ...(ask.ip ? { context: { ip: ask.ip } } : {}),
      });
      const wanted = this.#model.call(agent, ask);
      this.#agree('call', answer.allowed, wanted.allowed);
      if (!wanted.allowed) {
        this.#agree(
          `reason of a call, one of ${[...wanted.reasons]}`,
          wanted.reasons.has(answer.reason as string) || answer.reason,
          true,
        );
        continue;
      }
      const entry = await this.#w.t.legate.platform.database.read
        .selectFrom('stream_events')
        .select('delegation_ids')
        .where('id', '=', answer.auditId as string)
        .executeTakeFirst();
      const chain: string[] = JSON.parse(entry?.delegation_ids ?? '[]');
      this.#agree(
        'chain in the audit entry',
        chain.map((id) => this.#name(id)),
        wanted.delegationIds.map((id) => this.#name(id)),
      );
    }
  }

  async #delegate({
    from: f,
    to: g,
    permissions,
    minutes,
    maxDepth,
    as,
  }: Extract<Command, { do: 'delegate' }>): Promise<void> {
    const [from, to] = [this.#agent(f), this.#agent(g)];
    const expiresAt = minutes === null ? null : this.#model.now + minutes * MINUTE;
    const { token, agent, caller } = this.#caller(as, from, to);
    const r = await this.#w.t.call('POST', '/delegations', {
      as: token,
      body: {
        fromAgent: from.id,
        toAgent: to.id,
        permissions,
        ...(expiresAt === null ? {} : { expiresAt: isoTime(expiresAt) }),
        ...(maxDepth === undefined ? {} : { maxDepth }),
      },
    });
    if (agent && this.#model.status(agent) !== 'active') return this.#agree('status', r.status, 401);
    const wanted = this.#model.create(caller, { from, to, permissions, expiresAt, maxDepth });
    if ('codes' in wanted) {
      const code: string = r.body.error?.code ?? 'created';
      this.#count(code);
      this.#agree(`answer to a delegation, one of ${[...wanted.codes]}`, wanted.codes.has(code) || code, true);
      this.#agree('status', r.status, { AGENT_NOT_FOUND: 404, INSUFFICIENT_PERMISSIONS: 403 }[code] ?? 422);
      return this.#events([]);
    }
    const shown = {
      fromAgent: from.id,
      toAgent: to.id,
      permissions,
      depth: wanted.depth,
      expiresAt: expiresAt === null ? null : isoTime(expiresAt),
    };
    const { id, createdAt, ...answered } = r.body;
    this.#agree('answer to a delegation', [r.status, answered, createdAt], [201, shown, isoTime(this.#model.now)]);
    this.#count(`depth ${wanted.depth}`);
    this.#model.delegations.push({ id, ...wanted });
    return this.#events([{ type: 'delegation.created', agentId: from.id, data: { delegationId: id, ...shown } }]);
  }

  async #revoke({ nth, as }: Extract<Command, { do: 'revoke' }>): Promise<void> {
    const { delegations } = this.#model;
    const d = delegations[nth % delegations.length];
    if (!d) return;
    const { token, agent, caller } = this.#caller(as, d.from, d.to);
    const r = await this.#w.t.call('DELETE', `/delegations/${d.id}`, { as: token });
    if (agent && this.#model.status(agent) !== 'active') return this.#agree('status', r.status, 401);
    const [gives, receives] =
      caller === 'admin'
        ? [true, true]
        : 'agent' in caller
          ? [caller.agent === d.from, caller.agent === d.to]
          : [caller.userId === d.from.ownerId, caller.userId === d.to.ownerId];
    this.#agree('DELETE', r.status, gives || receives ? 204 : 404);
    const ended = gives || receives ? this.#model.revoke([d]) : [];
    this.#count(`ended by one revocation: ${Math.min(ended.length, 3)}`);
    return this.#events(ended.map((e) => this.#revoked(e, e === d ? 'revoked' : 'ancestor-revoked')));
  }

  #caller(
    as: As,
    from: ModelAgent,
    to: ModelAgent,
  ): { token: string; agent?: ModelAgent; caller: Parameters<Model['create']>[0] } {
    const { users } = this.#w;
    if (as === 'admin') return { token: users.admin.token, caller: 'admin' };
    const agent = as === 'source' ? from : as === 'target' ? to : undefined;
    // An agent with write access to delegations acts for its owner.
    const gateway = agent?.permissions.some(
      (p) =>
        !p.constraints &&
        p.resource.startsWith('legate:') &&
        matches(p.resource, 'legate:delegations') &&
        (p.actions.includes('write') || p.actions.includes('*')),
    );
    if (agent)
      return {
        token: this.#tokens.get(agent) as string,
        agent,
        caller: gateway ? { userId: agent.ownerId } : { agent },
      };
    const owner = OWNERS[this.#model.agents.indexOf(from)] as 'alice';
    const user = users[as === 'bob' || as === 'carol' ? as : owner];
    return { token: user.token, caller: { userId: user.id } };
  }

  #revoked(d: ModelDelegation, reason: string): { type: string; agentId: string; data: object } {
    return {
      type: 'delegation.revoked',
      agentId: d.from.id,
      data: { delegationId: d.id, fromAgent: d.from.id, toAgent: d.to.id, reason },
    };
  }

  async #lastSeq(): Promise<number> {
    const row = await this.#w.t.legate.platform.database.read
      .selectFrom('stream_events')
      .select('seq')
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst();
    return Number(row?.seq ?? 0);
  }

  /** Checks that exactly these events were emitted since the last check, in any order. */
  async #events(wanted: { type: string; agentId: string; data: object }[]): Promise<void> {
    const rows = await this.#w.t.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['seq', 'type', 'agent_id', 'data'])
      .where('seq', '>', this.#seq)
      .where('type', 'in', ['delegation.created', 'delegation.revoked'])
      .orderBy('seq')
      .execute();
    this.#seq = Number(rows.at(-1)?.seq ?? this.#seq);
    const told = rows.map((row) =>
      JSON.stringify({ type: row.type, agentId: row.agent_id, data: JSON.parse(row.data ?? 'null') }),
    );
    this.#agree('events', told.sort(), wanted.map((e) => JSON.stringify(e)).sort());
  }

  /** Compares every decision with its reason, and every list of active delegations. */
  async #compare(lists = true): Promise<void> {
    const { legate } = this.#w.t;
    const asked = this.#model.agents.flatMap((agent) => this.#h.questions.map((ask) => ({ agent, ask })));
    const answers = await Promise.all(
      asked.map(({ agent, ask }) =>
        legate.authorize({
          agentId: agent.id,
          action: ask.action,
          resource: ask.resource,
          dryRun: true,
          ...(ask.ip ? { context: { ip: ask.ip } } : {}),
        }),
      ),
    );
    for (const [i, { agent, ask }] of asked.entries()) {
      const answer = answers[i] as Json;
      const wanted = this.#model.decide(agent, ask);
      const what = `may ${this.#name(agent.id)} ${ask.action} ${ask.resource} from ${ask.ip}?`;
      if (wanted.allowed) {
        this.#agree(what, answer.allowed || answer.reason, true);
        this.#count(`allowed through ${wanted.delegationIds.length}`);
      } else {
        this.#agree(
          `${what} One of ${[...wanted.reasons]}`,
          answer.allowed ? 'allowed' : wanted.reasons.has(answer.reason) || answer.reason,
          true,
        );
        this.#count(answer.reason);
      }
    }
    if (!lists) return;
    const sources = this.#model.agents.filter((agent) => this.#model.delegations.some((d) => d.from === agent));
    const found = await Promise.all(sources.map((agent) => legate.delegations.list({ fromAgent: agent.id })));
    const listed = found.flat().map((d) => this.#name(d.id));
    this.#agree(
      'active delegations',
      listed.sort(),
      this.#model.delegations
        .filter((d) => this.#model.isListed(d))
        .map((d) => this.#name(d.id))
        .sort(),
    );
  }
}
