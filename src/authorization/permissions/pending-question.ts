import { type Actor, actorOf, application } from '../../access/actor.ts';
import { actingAgent, type Principal } from '../../access/principal.ts';
import { clockHour } from '../../kernel/clock.ts';
import { asId, type Id, isId, newId } from '../../kernel/ids.ts';
import { parseIp } from '../../kernel/ip.ts';
import { redact } from '../../kernel/redact.ts';
import type { AuditRecord, BatchContext, Lacking, Need, Outcome, PendingDecision } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { AgentErrors } from '../agents/errors.ts';
import { type ApprovalState, callDigest, useApproval } from './approval.ts';
import { loadApproval, loadedApproval, requestApproval } from './call-approval.ts';
import { CallFacts } from './call-facts.ts';
import { checkGates } from './check-gates.ts';
import { type CompiledAgent, UNREAD, withDraft } from './compile.ts';
import {
  counterKeys,
  countersOf,
  type Decision,
  type DecisionRequest,
  type DecisionState,
  decide,
  delegationsOf,
  neededApproval,
} from './decide.ts';
import { explain, type Trace, traceRoom } from './explain.ts';
import { assertMayAsk } from './may-ask.ts';
import { askedBy, decidedText, Observations } from './observations.ts';
import { jsonOfIds, type Recorded, withGateResults } from './outcome.ts';
import { type PolicyCache, policyCache } from './policy.ts';
import { type Asker, type AuthorizeAnswer, type AuthorizeInput, answerOf } from './question.ts';

const NO_PARAMETERS = '{}';
/** Maximum length of a chain of delegations that is followed before the question waits for the ledger. */
const MAX_ROUNDS_AHEAD = 32;

/** One question, from arrival to its decision in a batch. */
export class PendingQuestion implements PendingDecision<AuthorizeAnswer> {
  readonly #platform: Pick<Platform, 'clock' | 'config' | 'database' | 'gates'>;
  readonly #policy: PolicyCache;
  readonly #input: AuthorizeInput;
  readonly #asker: Asker;
  readonly #agentId: Id<'agent'>;
  readonly #onAllowed: ((delegationIds: readonly string[]) => void) | undefined;
  #principal: Principal | null;
  #principalEpoch: number;
  #digest: string | undefined;
  /** Room that the trace of this question takes. */
  #traced = 0;
  #draft: { readonly of: CompiledAgent; readonly agent: CompiledAgent } | undefined;
  #call: CallFacts;
  /** The arguments as recorded. */
  readonly #parameters: string;

  constructor(
    platform: Pick<Platform, 'clock' | 'config' | 'database' | 'gates' | 'redactedKeys' | 'stateOf'>,
    asker: Asker,
    input: AuthorizeInput,
    onAllowed: ((delegationIds: readonly string[]) => void) | undefined,
  ) {
    this.#platform = platform;
    this.#policy = platform.stateOf(policyCache);
    this.#asker = asker;
    this.#input = input;
    this.#onAllowed = onAllowed;
    this.#principal = asker.principal;
    this.#principalEpoch = asker.epoch;
    this.#agentId = asId('agent', input.agentId ?? actingAgent(asker.principal) ?? '');
    this.#call = new CallFacts(this.#ip(), input.arguments);
    this.#parameters =
      input.arguments === undefined || input.dryRun
        ? NO_PARAMETERS
        : JSON.stringify(redact(input.arguments, platform.redactedKeys));
  }

  /**
   * Evaluates conditions on the call's address and arguments, which depend on the question alone and can be costly,
   * before the question waits for the ledger. Under its lock the results are only looked up. Limits count as reached
   * and approvals as missing, so that everything the decision may examine is covered. Later changes are evaluated under
   * the lock.
   */
  evaluateAhead(): Promise<void> | undefined {
    const agent = this.#peek();
    const withArguments = this.#input.arguments !== undefined;
    if (agent ? !agent.conditional && (agent.sources.length === 0 || !withArguments) : !withArguments) return undefined;
    if (this.#call.isHeavy) return this.#policy.nextTick().then(() => this.#loadAndEvaluate());
    if (!agent) return this.#loadAndEvaluate();
    const missing = new Set<Id<'agent'>>();
    if (this.#mayAskNow(agent)) this.#dryEvaluate(agent, missing);
    return missing.size === 0 ? undefined : this.#loadAndEvaluate();
  }

  async #loadAndEvaluate(): Promise<void> {
    const { database } = this.#platform;
    if (!isId('agent', this.#agentId)) return;
    try {
      for (let round = 0; round < MAX_ROUNDS_AHEAD; round++) {
        const agent = (await this.#policy.load(database.read, this.#agentId)) && this.#peek();
        const missing = new Set<Id<'agent'>>();
        if (!agent || !this.#mayAskNow(agent)) return;
        this.#dryEvaluate(agent, missing);
        if (missing.size === 0) return;
        await this.#policy.loadAll(database.read, [...missing]);
      }
    } catch {
      // Data that cannot be read now is read under the lock, or fails there.
    }
  }

  #dryEvaluate(agent: CompiledAgent, missing: Set<Id<'agent'>>): void {
    const { clock } = this.#platform;
    const { action, resource } = this.#input;
    decide(
      agent,
      { action, resource, now: clock.now(), call: this.#call },
      {
        used: () => Number.POSITIVE_INFINITY,
        agent: (id) => {
          const source = this.#policy.peek(id);
          if (!source) missing.add(id);
          return source ?? UNREAD;
        },
        approved: () => false,
      },
    );
  }

  #mayAskNow(agent: CompiledAgent): boolean {
    try {
      this.#assertMayAsk(agent, this.#platform.clock.now());
      return true;
    } catch {
      return false;
    }
  }

  prepare(context: BatchContext, db: Db): Promise<void> | undefined {
    if (!this.#isFresh(context.epoch)) return this.#refresh(context, db);
    this.#wantCounters(context);
    return undefined;
  }

  #isFresh(epoch: number): boolean {
    if (this.#policy.peek(this.#agentId) === undefined) return false;
    const p = this.#principal;
    if (p === null) return true;
    if (p.kind === 'agent') return p.agentId === this.#agentId || this.#policy.peek(p.agentId) !== undefined;
    return this.#principalEpoch === epoch;
  }

  async #refresh(context: BatchContext, db: Db): Promise<void> {
    const p = this.#principal;
    if (p?.kind === 'agent') await this.#policy.load(db, p.agentId);
    else if (p !== null && this.#principalEpoch !== context.epoch) {
      this.#principal = await this.#asker.reauthenticate(db);
      this.#principalEpoch = context.epoch;
      const ip = this.#ip();
      if (ip !== this.#call.ip) this.#call = new CallFacts(ip, this.#input.arguments);
    }
    // A text that cannot be an agent's id must not reach the database: an error there would fail the whole batch.
    if (!isId('agent', this.#agentId) || !(await this.#policy.load(db, this.#agentId)))
      throw AgentErrors.AGENT_NOT_FOUND();
    this.#wantCounters(context);
  }

  #wantCounters(context: BatchContext): void {
    const { gates } = this.#platform;
    const agent = this.#peek();
    if (agent?.capped)
      for (const key of counterKeys(agent, this.#input.action, this.#input.resource)) context.counters.want(key);
    for (const gate of gates) gate.prepare?.(context, this.#agentId);
  }

  assertMayAsk(context: BatchContext): void {
    const agent = this.#policy.peek(this.#agentId);
    if (!agent) throw AgentErrors.AGENT_NOT_FOUND();
    this.#assertMayAsk(agent, context.now);
  }

  decide(context: BatchContext): Outcome<AuthorizeAnswer> | Lacking {
    const input = this.#input;
    const agent = this.#peek();
    if (!agent) throw AgentErrors.AGENT_NOT_FOUND();
    this.#assertMayAsk(agent, context.now);

    const now = input.at ?? context.now;
    const request = { action: input.action, resource: input.resource, now, call: this.#call };
    const observed = new Observations();
    let lacks: Need[] | undefined;
    const lack = (need: Need): void => {
      lacks ??= [];
      lacks.push(need);
    };
    const state: DecisionState = {
      used: (key, hour) => {
        const used = context.counters.used(key, hour);
        if (used === undefined) lack({ counters: [key] });
        else observed.counter(key, used);
        return used ?? Number.POSITIVE_INFINITY;
      },
      agent: (id) => {
        const source = this.#policy.peek(id);
        if (!source) lack({ load: (db) => this.#loadSource(db, id) });
        return source ?? UNREAD;
      },
      approved: () => {
        const approval = this.#approval(context);
        if (!approval) lack({ load: (db) => loadApproval(context, db, this.#digest as string, agent) });
        const approved = approval?.status === 'approved' && approval.expiresAt > now;
        if (approved) observed.approval = approval;
        return approved;
      },
    };
    const permitted = decide(agent, request, state);
    if (lacks) return { lacks };
    const matched = this.#call.results;
    const gated = checkGates(this.#platform.gates, context, agent, input, permitted);
    if ('lacks' in gated) return gated;
    const { decision, results } = gated;
    const trace = input.explain
      ? {
          ...this.#explain(agent, request, state, permitted),
          ...(!decision.allowed && decision.by ? { refusedBy: decision.by } : {}),
        }
      : undefined;
    if (lacks) return { lacks };
    const chain = decision.allowed ? delegationsOf(decision) : [];
    if (decision.allowed) this.#onAllowed?.(chain);
    if (input.dryRun) return { answer: answerOf(decision, undefined, now, trace) };

    const approval = decision.allowed && neededApproval(decision) ? this.#approval(context) : undefined;
    // The code from here on cannot throw, so each call is counted once.
    if (decision.allowed) {
      for (const key of countersOf(decision)) context.counters.take(key, clockHour(context.now));
    }
    for (const result of results) result.commit?.();
    const auditId = newId('audit', context.now);
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
      parameters: this.#parameters,
      ip: this.#call.ip,
      userAgent: this.#userAgent(),
      delegationIds: chain.length > 0 ? jsonOfIds(chain) : null,
      decided: decidedText(
        decision,
        askedBy(this.#principal, agent.id, this.#asker.holder),
        observed,
        approval !== undefined,
        matched === '' || !this.#isRedacted() ? undefined : matched,
      ),
    };
    const answer = answerOf(decision, auditId, context.now, trace);
    const outcome = this.#withApproval(context, agent, decision, approval, { answer, record });
    const whole = results.length === 0 ? outcome : withGateResults(outcome, results);
    return whole.events ? { by: this.#actor(), ...whole } : whole;
  }

  /** If the question is decided again, its new trace takes the room of the former one. */
  #explain(...decided: [CompiledAgent, DecisionRequest, DecisionState, Decision]): Trace {
    const room = this.#asker.traceRoom ?? traceRoom();
    room.left += this.#traced;
    const { left } = room;
    const trace = explain(...decided, room);
    this.#traced = left - room.left;
    return trace;
  }

  #withApproval(
    context: BatchContext,
    agent: CompiledAgent,
    decision: Decision,
    used: ApprovalState | undefined,
    outcome: Recorded,
  ): Recorded {
    if (used) return { write: useApproval(used, context.now), ...outcome };
    if (decision.allowed || decision.reason !== 'APPROVAL_REQUIRED') return outcome;
    // The decision has already loaded the approval.
    return requestApproval(context, this.#digest as string, agent, this.#platform.config.approvals, outcome);
  }

  /** The approval of exactly this call, read once per batch. Returns undefined if it has not been read yet. */
  #approval(context: BatchContext): ApprovalState | undefined {
    this.#digest ??= callDigest(this.#agentId, this.#input);
    return loadedApproval(context, this.#digest);
  }

  async #loadSource(db: Db, id: Id<'agent'>): Promise<void> {
    await this.#policy.loadAll(db, [id]);
    if (!this.#policy.peek(id)) throw new Error(`The agent ${id} of a delegation does not exist.`);
  }

  /** The agent, if it is in memory, with the draft of a dry run in place of its own permissions. */
  #peek(): CompiledAgent | undefined {
    const agent = this.#policy.peek(this.#agentId);
    const { permissions } = this.#input;
    if (!agent || !permissions) return agent;
    if (this.#draft?.of !== agent) this.#draft = { of: agent, agent: withDraft(agent, permissions) };
    return this.#draft.agent;
  }

  /** Whether the recorded arguments differ from those that the decision used. */
  #isRedacted(): boolean {
    return this.#input.arguments !== undefined && this.#parameters !== JSON.stringify(this.#input.arguments);
  }

  /** The caller, who is the actor of a requested approval and of an exceeded budget. */
  #actor(): Actor {
    const ip = this.#platform.config.multiSession.trackIp ? this.#asker.ip : null;
    return this.#principal === null ? (this.#asker.holder ?? application()) : actorOf(this.#principal, ip);
  }

  #assertMayAsk(agent: CompiledAgent, now: number): void {
    if (this.#principal === null) return;
    assertMayAsk(this.#principal, agent, now, this.#input.dryRun === true, (id) => this.#policy.peek(id));
  }

  /**
   * Whether the agent itself asks, so that it calls from the address of the request. Otherwise its owner or a gateway
   * states the address.
   */
  get #asksAboutItself(): boolean {
    return actingAgent(this.#principal) === this.#agentId;
  }

  /** The address of the call in canonical form, in which filters of the audit log compare it. */
  #ip(): string | null {
    if (this.#asksAboutItself) return this.#asker.ip;
    const stated = this.#input.context?.ip;
    return stated === undefined ? null : (parseIp(stated) ?? stated);
  }

  #userAgent(): string | null {
    const stated = this.#input.context?.userAgent;
    return stated ?? (this.#asksAboutItself ? this.#asker.userAgent : null);
  }
}
