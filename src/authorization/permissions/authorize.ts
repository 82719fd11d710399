import { actingAgent, type Principal } from '../../access/principal.ts';
import { clockHour, isoTime, SECOND_MS } from '../../kernel/clock.ts';
import { CommonErrors, invalidCredential } from '../../kernel/errors.ts';
import { isId, newId } from '../../kernel/ids.ts';
import { redact } from '../../kernel/redact.ts';
import { type AuditRecord, type Candidate, NotReady, type Outcome, type Turn } from '../../ledger/index.ts';
import type { GatedCall, Passage, Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { agentStatus } from '../agents/agent-state.ts';
import { AgentErrors } from '../agents/errors.ts';
import {
  type ApprovalState,
  approvalRequested,
  callDigest,
  insertApproval,
  newApproval,
  readApproval,
  useApproval,
} from './approval.ts';
import { CallFacts } from './call-facts.ts';
import type { CompiledAgent } from './compile.ts';
import {
  counterKeys,
  countersOf,
  type Decision,
  decide,
  delegationsOf,
  neededApproval,
  type Reason,
  type World,
} from './decide.ts';
import { explain, type Trace } from './explain.ts';
import { mayUseOwnResource } from './own-resources.ts';

export interface AuthorizeInput {
  /** May be left out by an agent asking about itself. */
  readonly agentId?: string | undefined;
  readonly action: string;
  readonly resource: string;
  readonly arguments?: Record<string, unknown> | undefined;
  readonly context?: { readonly ip?: string | undefined; readonly userAgent?: string | undefined } | undefined;
  readonly explain?: boolean | undefined;
  /** Same answer; nothing is counted, nothing is recorded, there is no auditId. */
  readonly dryRun?: boolean | undefined;
  readonly tokensCost?: number | undefined;
}

/** Specification 2.4 and contract 6. */
export interface AuthorizeAnswer {
  readonly allowed: boolean;
  readonly auditId?: string;
  readonly reason?: Reason;
  /** Seconds until the window of a RATE_LIMITED refusal ends. */
  readonly retryAfter?: number;
  readonly limit?: number;
  readonly remaining?: number;
  readonly resetAt?: string;
  /** With APPROVAL_REQUIRED: what a person has to approve. */
  readonly approvalId?: string;
  readonly trace?: Trace;
}

/** Who asks. */
export interface Asker {
  /** null: the embedding application itself, which may ask about every agent. */
  readonly principal: Principal | null;
  /** Epoch up to which the principal is known to be good; -1: not known. */
  readonly epoch: number;
  /** Proves the same credential again. Throws 401 when it is none any more. */
  readonly reauthenticate: (db: Db) => Promise<Principal>;
  /** Address of the connection. */
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** performance.now() at arrival. */
  readonly startedAt: number;
}

/** Sources of an agent that are loaded together. */
const MAX_SOURCES_AT_ONCE = 1000;

const NO_PARAMETERS = '{}';
const NO_PASSAGES: readonly Passage[] = [];

type Recorded = Outcome<AuthorizeAnswer> & { readonly record: AuditRecord };

/**
 * One decision: decided under the ledger's lock on policy that is current there, counted, recorded, and only then answered.
 * Unknown or invisible agent: 404 AGENT_NOT_FOUND, without a record.
 *
 * `by` is told the chain of what is allowed, from the root to the agent: none when the agent holds it itself.
 */
export function authorize(
  platform: Platform,
  asker: Asker,
  input: AuthorizeInput,
  by?: (delegationIds: readonly string[]) => void,
): Promise<AuthorizeAnswer> {
  return platform.ledger.decide(new Question(platform, asker, input, by));
}

class Question implements Candidate<AuthorizeAnswer> {
  readonly #platform: Platform;
  readonly #input: AuthorizeInput;
  readonly #asker: Asker;
  readonly #agentId: string;
  readonly #by: ((delegationIds: readonly string[]) => void) | undefined;
  #principal: Principal | null;
  #principalEpoch: number;
  #digest: string | undefined;

  constructor(
    platform: Platform,
    asker: Asker,
    input: AuthorizeInput,
    by: ((delegationIds: readonly string[]) => void) | undefined,
  ) {
    this.#platform = platform;
    this.#asker = asker;
    this.#input = input;
    this.#by = by;
    this.#principal = asker.principal;
    this.#principalEpoch = asker.epoch;
    this.#agentId = input.agentId ?? actingAgent(asker.principal) ?? '';
  }

  isFresh(epoch: number): boolean {
    const { policy } = this.#platform;
    if (policy.peek(this.#agentId) === undefined) return false;
    const p = this.#principal;
    if (p === null) return true;
    if (p.kind === 'agent') return p.agentId === this.#agentId || policy.peek(p.agentId) !== undefined;
    return this.#principalEpoch === epoch;
  }

  async refresh(db: Db, epoch: number): Promise<void> {
    const { policy } = this.#platform;
    const p = this.#principal;
    if (p?.kind === 'agent') await policy.load(db, p.agentId);
    else if (p !== null && this.#principalEpoch !== epoch) {
      this.#principal = await this.#asker.reauthenticate(db);
      this.#principalEpoch = epoch;
    }
    // What cannot be the id of an agent is never sent to the database: an error there would be every other decision's as well.
    if (!isId('agent', this.#agentId) || !(await policy.load(db, this.#agentId))) throw AgentErrors.AGENT_NOT_FOUND();
  }

  counterKeys(): readonly string[] {
    const agent = this.#platform.policy.peek(this.#agentId);
    return agent ? counterKeys(agent, this.#input.action, this.#input.resource) : [];
  }

  evaluate(turn: Turn): Outcome<AuthorizeAnswer> {
    const input = this.#input;
    const agent = this.#platform.policy.peek(this.#agentId);
    if (!agent) throw AgentErrors.AGENT_NOT_FOUND();
    const asksAboutItself = this.#mayAsk(agent, turn.now);

    const origin = this.#origin(asksAboutItself);
    const ask = {
      action: input.action,
      resource: input.resource,
      now: turn.now,
      call: new CallFacts(origin.ip, input.arguments),
    };
    const world: World = {
      used: (key, hour) => turn.counters.used(key, hour),
      agent: (id) => this.#source(id, agent),
      approved: () => this.#approval(turn).status === 'approved',
    };
    const permitted = decide(agent, ask, world);
    const { decision, passages } = this.#passGates(turn, agent, permitted);
    const trace = input.explain
      ? {
          ...explain(agent, ask, world, permitted),
          ...(!decision.allowed && decision.by ? { refusedBy: decision.by } : {}),
        }
      : undefined;
    const chain = decision.allowed ? delegationsOf(decision) : [];
    if (decision.allowed) this.#by?.(chain);
    if (input.dryRun) return { answer: answerOf(decision, undefined, turn.now, trace) };

    const approval = decision.allowed && neededApproval(decision) ? this.#approval(turn) : undefined;
    // Nothing throws from here on: what is counted is counted once.
    if (decision.allowed) {
      for (const key of countersOf(decision)) turn.counters.take(key, clockHour(turn.now));
    }
    for (const passage of passages) passage.take?.();
    const auditId = newId('audit', turn.now);
    const record: AuditRecord = {
      id: auditId,
      agentId: agent.id,
      userId: agent.ownerId,
      action: input.action,
      resource: input.resource,
      result: decision.allowed ? 'allowed' : decision.reason === 'RATE_LIMITED' ? 'rate_limited' : 'denied',
      reason: decision.allowed ? null : decision.reason,
      durationMs: Math.round((performance.now() - this.#asker.startedAt) * 1000) / 1000,
      tokensCost: input.tokensCost ?? null,
      parameters:
        input.arguments === undefined
          ? NO_PARAMETERS
          : JSON.stringify(redact(input.arguments, this.#platform.redactedKeys)),
      ip: origin.ip,
      userAgent: origin.userAgent,
      delegationIds: chain.length > 0 ? jsonOfIds(chain) : null,
    };
    const answer = answerOf(decision, auditId, turn.now, trace);
    const outcome = this.#withApproval(turn, agent, decision, approval, { answer, record });
    return passages.length === 0 ? outcome : withPassages(outcome, passages);
  }

  #withApproval(
    turn: Turn,
    agent: CompiledAgent,
    decision: Decision,
    used: ApprovalState | undefined,
    outcome: Recorded,
  ): Recorded {
    if (used) return { ...outcome, write: useApproval(used, turn.now) };
    if (decision.allowed || decision.reason !== 'APPROVAL_REQUIRED') return outcome;
    return this.#askForApproval(turn, agent, outcome.record, outcome.answer);
  }

  /** What permissions allow must also pass every gate; the first that refuses decides. */
  #passGates(
    turn: Turn,
    agent: CompiledAgent,
    permitted: Decision,
  ): { decision: Decision; passages: readonly Passage[] } {
    const { gates } = this.#platform;
    if (!permitted.allowed || gates.length === 0) return { decision: permitted, passages: NO_PASSAGES };
    const { action, resource, tokensCost, dryRun } = this.#input;
    const call: GatedCall = {
      agentId: agent.id,
      ownerId: agent.ownerId,
      action,
      resource,
      tokensCost: tokensCost ?? null,
      dryRun: dryRun ?? false,
    };
    let passages: Passage[] | undefined;
    for (const gate of gates) {
      const passage = gate.pass(turn, call);
      if (!passage) continue;
      const { refusal } = passage;
      // What earlier gates would have counted or told is dropped with the call.
      if (refusal) return { decision: { allowed: false, ...refusal }, passages: [passage] };
      passages ??= [];
      passages.push(passage);
    }
    return { decision: permitted, passages: passages ?? NO_PASSAGES };
  }

  /** What is known of a person's approval of exactly this call; read once a batch, under its lock. */
  #approval(turn: Turn): ApprovalState {
    const digest = (this.#digest ??= callDigest(this.#agentId, this.#input));
    const known = turn.shared.get(digest) as ApprovalState | undefined;
    if (known) return known;
    throw new NotReady({
      load: async (db) => {
        turn.shared.set(digest, await readApproval(db, digest, turn.now));
      },
    });
  }

  /** An identical call waits for the same approval; otherwise a new one is asked for. */
  #askForApproval(turn: Turn, agent: CompiledAgent, record: AuditRecord, answer: AuthorizeAnswer): Recorded {
    const state = this.#approval(turn);
    if (state.status === 'pending') return { answer: { ...answer, approvalId: state.id }, record };
    const row = newApproval(this.#digest as string, agent, record, turn.now, this.#platform.config.approvals.ttl);
    state.id = row.id;
    state.status = 'pending';
    return {
      answer: { ...answer, approvalId: row.id },
      record,
      write: insertApproval(row),
      events: [approvalRequested(row)],
    };
  }

  /** An agent further up a chain; with it all that delegate to `below` are loaded, since they are likely asked for next. */
  #source(id: string, below: CompiledAgent): CompiledAgent {
    const { policy } = this.#platform;
    const source = policy.peek(id);
    if (source) return source;
    throw new NotReady({
      load: async (db) => {
        await policy.loadAll(db, below.sources.length <= MAX_SOURCES_AT_ONCE ? [id, ...below.sources] : [id]);
        if (!policy.peek(id)) throw new Error(`The agent ${id} of a delegation does not exist.`);
      },
    });
  }

  /** May the asker, as it is now, ask about this agent? True: the agent itself asks. Throws 401, 403 or 404. */
  #mayAsk(agent: CompiledAgent, now: number): boolean {
    const p = this.#principal;
    if (p === null) return false;
    switch (p.kind) {
      case 'user':
        if (p.expiresAt !== null && now >= p.expiresAt) throw invalidCredential('principal-ended');
        if (p.role !== 'admin' && agent.ownerId !== p.userId) throw AgentErrors.AGENT_NOT_FOUND();
        return false;
      case 'agent': {
        const caller = p.agentId === agent.id ? agent : this.#platform.policy.peek(p.agentId);
        if (!caller || caller.tokenHash !== p.tokenHash || agentStatus(caller, now) !== 'active')
          throw invalidCredential('principal-ended');
        if (caller === agent) return true;
        if (agent.ownerId !== caller.ownerId || !mayUseOwnResource(caller, 'legate:authorize', 'check'))
          throw AgentErrors.AGENT_NOT_FOUND();
        return false;
      }
      case 'accessToken':
        if (now >= p.expiresAt) throw invalidCredential('access-token-expired');
        if (agent.id === actingAgent(p)) return true;
        if (agent.ownerId !== p.userId) throw AgentErrors.AGENT_NOT_FOUND();
        return false;
      case 'anonymous':
        throw CommonErrors.UNAUTHORIZED();
    }
  }

  /** Where the agent's call comes from: its own connection when it asks itself, else what the owner or gateway states. */
  #origin(asksAboutItself: boolean): { ip: string | null; userAgent: string | null } {
    const { context } = this.#input;
    if (asksAboutItself) return { ip: this.#asker.ip, userAgent: context?.userAgent ?? this.#asker.userAgent };
    return { ip: context?.ip ?? null, userAgent: context?.userAgent ?? null };
  }
}

/** JSON of ids that we made, which have nothing to escape: a third of the time. */
function jsonOfIds([first, ...others]: readonly string[]): string {
  let json = `["${first}`;
  for (const id of others) json += `","${id}`;
  return `${json}"]`;
}

/** What the gates write and tell commits with the record. */
function withPassages(outcome: Recorded, passages: readonly Passage[]): Recorded {
  const writes = [outcome.write, ...passages.map((p) => p.write)].filter((w) => w !== undefined);
  const events = [...(outcome.events ?? []), ...passages.flatMap((p) => p.events ?? [])];
  return {
    ...outcome,
    ...(writes.length > 0
      ? {
          write: async (db: Db) => {
            for (const write of writes) await write(db);
          },
        }
      : {}),
    ...(events.length > 0 ? { events } : {}),
  };
}

function answerOf(
  decision: Decision,
  auditId: string | undefined,
  now: number,
  trace: Trace | undefined,
): AuthorizeAnswer {
  const base: AuthorizeAnswer =
    auditId === undefined ? { allowed: decision.allowed } : { allowed: decision.allowed, auditId };
  const answer =
    decision.allowed || decision.reason !== 'RATE_LIMITED'
      ? decision.allowed
        ? base
        : { ...base, reason: decision.reason }
      : {
          ...base,
          reason: decision.reason,
          retryAfter: Math.max(1, Math.ceil(((decision.resetAt ?? now) - now) / SECOND_MS)),
          limit: decision.limit ?? 0,
          remaining: 0,
          resetAt: isoTime(decision.resetAt ?? now),
        };
  return trace ? { ...answer, trace } : answer;
}
