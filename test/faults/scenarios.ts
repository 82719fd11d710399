import { setTimeout as sleep } from 'node:timers/promises';
import { asId } from '../../src/kernel/ids.ts';
import { ask, code, exchange, type Person, register } from '../support/oauth.ts';
import type { Random } from '../support/random.ts';
import type { Json, TestService } from '../support/service.ts';
import type { Asked } from './history.ts';
import type { Answer, Message, Recorder } from './recorder.ts';

const PASSWORD = 'correct horse battery';
const INSTANCES = 3;
/** The maximum number of attempts for a step that has to succeed while instances and databases are away. */
const TRIES = 400;
/** The number of questions without a pause while a right ends. */
const UNPAUSED = 10;

/** The behaviour of one client: it repeats scenarios at instances that it picks at random. Each run uses new agents. */
export class Client {
  readonly #recorder: Recorder;
  readonly #random: Random;
  readonly #owner: { id: string; token: string };
  readonly #isOver: () => boolean;
  readonly #prefix: string;
  /** The pause between two scenarios. */
  readonly #pauseMs: number;
  #count = 0;
  #oauthClient: Json;

  constructor(
    recorder: Recorder,
    random: Random,
    owner: { id: string; token: string },
    prefix: string,
    isOver: () => boolean,
    pauseMs = 0,
  ) {
    this.#recorder = recorder;
    this.#random = random;
    this.#owner = owner;
    this.#prefix = prefix;
    this.#isOver = isOver;
    this.#pauseMs = pauseMs;
  }

  /** Runs scenarios until the time is over. Returns how many ran, by name. */
  async run(): Promise<Record<string, number>> {
    const scenarios: Record<string, () => Promise<void>> = {
      'agent revoked': () => this.#agentRevoked(),
      'permission edited': () => this.#permissionEdited(),
      'delegation revoked': () => this.#delegationRevoked(),
      'source of a delegation revoked': () => this.#delegationRevoked(true),
      'token rotated': () => this.#tokenRotated(),
      cap: () => this.#cap(),
      approval: () => this.#approval(),
      'session ended': () => this.#sessionEnded(),
      'refresh token': () => this.#refreshed(),
    };
    const names = Object.keys(scenarios);
    const runs: Record<string, number> = {};
    while (!this.#isOver()) {
      const name = names[this.#random.below(names.length)] as string;
      try {
        await scenarios[name]?.();
        runs[name] = (runs[name] ?? 0) + 1;
      } catch (error) {
        if (!(error instanceof GivenUp)) throw error;
      }
      if (this.#pauseMs > 0) await sleep(this.#pauseMs);
    }
    return runs;
  }

  async #agentRevoked(): Promise<void> {
    const resource = this.#name('db');
    const agent = await this.#agent([resource]);
    const rights = [agent.right, `${agent.id} may ${resource}`];
    await this.#whileAsking(
      () => this.#decide(agent, resource, rights),
      () => this.#end(agent.right, { method: 'DELETE', path: `/agents/${agent.id}` }),
    );
  }

  async #permissionEdited(): Promise<void> {
    const [before, after] = [this.#name('db'), this.#name('db')];
    const agent = await this.#agent([before]);
    const [old, next] = [`${agent.id} may ${before}`, `${agent.id} may ${after}`];
    await this.#whileAsking(
      () =>
        this.#random.below(2)
          ? this.#decide(agent, before, [agent.right, old])
          : this.#decide(agent, after, [agent.right, next]),
      async () => {
        const body = { permissions: [{ resource: after, actions: ['read'] }] };
        const message = { method: 'PATCH', path: `/agents/${agent.id}`, token: this.#owner.token, body };
        await this.#until([200], message, ({ status }) => ({ kind: 'ended', right: old, succeeded: status === 200 }));
        this.#given(next);
      },
    );
  }

  async #delegationRevoked(bySource = false): Promise<void> {
    const resource = this.#name('db');
    const [source, target] = [await this.#agent([resource]), await this.#agent([])];
    const body = {
      fromAgent: source.id,
      toAgent: target.id,
      permissions: [{ resource, actions: ['read'] }],
    };
    // Without a key, repeating the request after a lost response would create a second delegation.
    const headers = { 'idempotency-key': resource };
    const made = await this.#until([201], { path: '/delegations', token: this.#owner.token, body, headers });
    const path = `/delegations?fromAgent=${source.id}`;
    const { body: all } = await this.#until([200], { method: 'GET', path, token: this.#owner.token });
    if (all.length !== 1) throw new Error(`one request made ${all.length} delegations of ${source.id}`);
    const right = `delegation ${made.body.id}`;
    this.#given(right);
    const rights = [target.right, source.right, `${source.id} may ${resource}`, right];
    await this.#whileAsking(
      () => this.#decide(target, resource, rights),
      () =>
        bySource
          ? this.#end(source.right, { method: 'DELETE', path: `/agents/${source.id}` })
          : this.#end(right, { method: 'DELETE', path: `/delegations/${made.body.id}` }),
    );
  }

  async #tokenRotated(): Promise<void> {
    const resource = this.#name('db');
    const agent = await this.#agent([resource]);
    const right = `first token of ${agent.id}`;
    this.#given(right);
    await this.#whileAsking(
      () => this.#decide(agent, resource, [agent.right, `${agent.id} may ${resource}`, right]),
      () => this.#end(right, { path: `/agents/${agent.id}/rotate` }, [200]),
    );
  }

  async #cap(): Promise<void> {
    const [resource, limit] = [this.#name('capped'), 1 + this.#random.below(8)];
    const agent = await this.#agent([resource], { maxCallsPerHour: limit });
    this.#recorder.caps.push({ agentId: agent.id, resource, limit, per: 'hour' });
    await this.#atOnce(limit + 8, () => this.#decide(agent, resource, [agent.right], { isConditional: true }));
  }

  async #approval(): Promise<void> {
    const resource = this.#name('bank');
    const agent = await this.#agent([resource], { requireApproval: true });
    this.#recorder.caps.push({ agentId: agent.id, resource, limit: 1, per: 'ever' });
    const call = () => this.#decide(agent, resource, [agent.right], { isConditional: true });
    const first = await this.#retried(call, (answer) => answer.body?.approvalId !== undefined);
    const path = `/approvals/${first.body.approvalId}`;
    const secret = `resolution of ${first.body.approvalId}`;
    await this.#atOnce(3, (nth) =>
      this.#send({ path: `${path}/${nth ? 'approve' : 'deny'}`, token: this.#owner.token, body: {} }, ({ status }) => ({
        kind: 'redeemed',
        secret,
        succeeded: status === 200,
      })),
    );
    await this.#atOnce(5, call);
  }

  async #sessionEnded(): Promise<void> {
    const email = `${this.#name('person')}@example.com`;
    const signUp = { path: '/sign-up', body: { email, password: PASSWORD } };
    // A sign-up whose response was lost cannot be repeated.
    const signedUp = await this.#send(signUp, other('sign-up'));
    if (signedUp.status !== 200) return;
    const { token } = signedUp.body as { token: string };
    const right = `session of ${email}`;
    this.#given(right);
    const other_ = await this.#until([200], { path: '/sign-in', body: { email, password: PASSWORD } });
    const list = await this.#until([200], { method: 'GET', path: '/auth/sessions', token });
    const session = list.body.sessions.find((s: Json) => s.current);
    if (!session) throw new Error(`no current session in ${list.text}`);
    await this.#whileAsking(
      () => this.#accepted({ method: 'GET', path: '/auth/session', token }, right),
      () => this.#end(right, { method: 'DELETE', path: `/auth/sessions/${session.id}`, token: other_.body.token }),
    );
  }

  async #refreshed(): Promise<void> {
    const { id, token } = this.#owner;
    const person: Person = { id: asId('user', id), token, email: '' };
    let asked: ReturnType<typeof ask>;
    let issued: string;
    try {
      this.#oauthClient ??= await register(this.#service);
      asked = ask(this.#oauthClient);
      issued = await code(this.#service, person, asked);
    } catch (error) {
      // A step that failed without a 503 is a fault of this file or of the service.
      if (!/answered (0|503)|no code: (0|503)/.test(String(error))) throw error;
      throw new GivenUp();
    }
    let tokens: Json;
    await this.#atOnce(3, async (nth) => {
      const answer = await exchange(this.#redeeming(`code ${issued}`), asked, issued);
      if (answer.status === 200 && nth >= 0) tokens = answer.body;
      return answer as unknown as Answer;
    });
    const secret = tokens?.refresh_token as string | undefined;
    if (secret === undefined) return;
    const fields = { grant_type: 'refresh_token', refresh_token: secret, client_id: this.#oauthClient.client_id };
    await this.#atOnce(3, () =>
      this.#send(form('/oauth/token', fields), ({ status }) => ({
        kind: 'redeemed',
        secret: `refresh token ${secret}`,
        succeeded: status === 200,
      })),
    );
  }

  /** The functions of test/support/oauth.ts, with requests to random instances. */
  get #service(): TestService {
    return this.#redeeming();
  }

  #redeeming(secret?: string): TestService {
    const call = (
      method: string,
      path: string,
      o: { as?: { token: string }; body?: object; raw?: string; headers?: Record<string, string> } = {},
    ): Promise<Answer> =>
      this.#send({ method, path, token: o.as?.token, body: o.body, raw: o.raw, headers: o.headers }, ({ status }) =>
        secret === undefined
          ? { kind: 'other', name: `${method} ${path.split('?')[0]}` }
          : { kind: 'redeemed', secret, succeeded: status === 200 },
      );
    return { call } as unknown as TestService;
  }

  async #agent(resources: string[], constraints?: object): Promise<TestAgent> {
    const permissions = resources.map((resource) => ({
      resource,
      actions: ['read'],
      ...(constraints ? { constraints } : {}),
    }));
    const body = { ownerId: this.#owner.id, name: this.#name('agent'), type: 'service', permissions };
    const made = await this.#until([201], { path: '/agents', token: this.#owner.token, body });
    const { id, token } = made.body as { id: string; token: string };
    const right = `agent ${id}`;
    this.#given(right);
    for (const resource of resources) this.#given(`${id} may ${resource}`);
    return { id, token, right };
  }

  #decide(agent: TestAgent, resource: string, rights: string[], more: Partial<Asked> = {}): Promise<Answer> {
    const message = { path: '/authorize', token: agent.token, body: { action: 'read', resource } };
    return this.#send(message, ({ status, body }) => ({
      kind: 'asked',
      rights,
      allowed: status === 200 ? (body.allowed as boolean) : status === 401 ? false : undefined,
      auditId: body?.auditId,
      agentId: agent.id,
      resource,
      ...more,
    }));
  }

  #accepted(message: Message, right: string): Promise<Answer> {
    return this.#send(message, ({ status }) => ({
      kind: 'asked',
      rights: [right],
      allowed: status === 200 ? true : status === 401 ? false : undefined,
    }));
  }

  /** Ends a right, repeatedly until a response arrives. A repetition may find it ended: 404 or 409. */
  async #end(right: string, message: Message, success = [204, 404, 409]): Promise<void> {
    await this.#until(success, { token: this.#owner.token, ...message }, ({ status }) => ({
      kind: 'ended',
      right,
      succeeded: success.includes(status),
    }));
  }

  /** Records that a response has granted a right just now. */
  #given(right: string): void {
    const now = performance.now();
    const what = { kind: 'granted', right, succeeded: true } as const;
    this.#recorder.operations.push({ startedAt: now, endedAt: now, instance: -1, status: 200, what });
  }

  /** Sends requests to several instances without a pause, ends the right at the same time, and sends some more. */
  async #whileAsking(question: () => Promise<Answer>, end: () => Promise<void>): Promise<void> {
    let isEnded = false;
    const askers = Array.from({ length: 3 }, async () => {
      const [before, after] = [1 + this.#random.below(4), 2 + this.#random.below(3)];
      for (let i = 0; i < before || !isEnded; i++) {
        await question();
        if (this.#isOver() && !isEnded) return;
        // The end of the right waits for a fault to pass, which takes up to 20 s.
        if (i >= UNPAUSED && this.#pauseMs > 0) await sleep(this.#pauseMs);
      }
      for (let i = 0; i < after; i++) await question();
    });
    const ending = (async () => {
      await question();
      try {
        await end();
      } finally {
        isEnded = true;
      }
    })();
    const [ended] = await Promise.allSettled([ending, ...askers]);
    if (ended?.status === 'rejected') throw ended.reason;
  }

  #atOnce(times: number, run: (nth: number) => Promise<Answer>): Promise<Answer[]> {
    return Promise.all(Array.from({ length: times }, (_, i) => run(i)));
  }

  #until(statuses: number[], message: Message, meaning = other(message.path)): Promise<Answer> {
    return this.#retried(
      () => this.#send(message, meaning),
      ({ status }) => statuses.includes(status),
    );
  }

  async #retried(run: () => Promise<Answer>, isDone: (answer: Answer) => boolean): Promise<Answer> {
    let last: Answer | undefined;
    for (let i = 0; i < TRIES; i++) {
      last = await run();
      if (isDone(last)) return last;
      // The first request with the key may still be running at an instance whose response was lost.
      const isRunning = last.body?.error?.code === 'IDEMPOTENCY_IN_PROGRESS';
      if (last.status !== 0 && last.status !== 503 && !isRunning)
        throw new Error(`unexpected answer ${last.status}: ${last.text.slice(0, 300)}`);
      if (this.#isOver()) throw new GivenUp();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`no success in ${TRIES} tries; the last answer was ${last?.status}: ${last?.text}`);
  }

  #send(message: Message, meaning: Parameters<Recorder['send']>[2]): Promise<Answer> {
    return this.#recorder.send(this.#random.below(INSTANCES), message, meaning);
  }

  #name(kind: string): string {
    const number = `${this.#prefix}-${++this.#count}`;
    return kind === 'person' || kind === 'agent' ? `${kind}-${number}` : `${kind}:${number}`;
  }
}

/** The time was over before a scenario could continue. */
class GivenUp extends Error {}

interface TestAgent {
  readonly id: string;
  readonly token: string;
  readonly right: string;
}

const other =
  (name: string) =>
  (_: Answer): ReturnType<Parameters<Recorder['send']>[2]> => ({ kind: 'other', name });

const form = (path: string, fields: Record<string, string>): Message => ({
  path,
  raw: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
});
