import type { LegateError } from '../../kernel/errors.ts';
import { AlreadyAnswered, LongAnswers } from '../../ledger/index.ts';
import type { Route } from '../../platform/route.ts';
import type { Platform } from '../../platform.ts';
import type { IdempotencyKeyRow } from '../../storage/index.ts';
import type { Rendered } from '../render-error.ts';
import { IdempotencyErrors } from './errors.ts';
import { KeyedLedger, type Settled } from './keyed-ledger.ts';
import { findAnswer } from './store.ts';

/** A request with an `Idempotency-Key`. */
export interface KeyedRequest {
  readonly route: Route<Platform>;
  readonly scope: string;
  readonly fingerprint: string;
  /** Whose share of kept answers this one counts against: a user, or the address of an anonymous caller. */
  readonly owner: string;
  /** Carries the request out. Every change goes through the ledger of the platform that it is given. */
  readonly carryOut: (platform: Platform) => Promise<Rendered | Response>;
  /** Renders an error. Does not throw. */
  readonly fail: (error: unknown) => Promise<Rendered | Response>;
  /** Header fields that every answer has and that are not stored. */
  readonly usualHeaders: Readonly<Record<string, string>>;
}

interface KeptRendered {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string | null;
}

const RETRY_AFTER_S = 1;
/** A row that is `unfinished` for longer was left by a process that has stopped. */
const UNFINISHED_MS = 60_000;
/** Refusals that do not depend on the request itself, but on the credential, the current state or the rate. */
const NOT_KEPT: ReadonlySet<number> = new Set([401, 409, 429]);

/** Carries each request with an `Idempotency-Key` out once (contract 17.11). */
export class RepeatableRequests {
  readonly #platform: Pick<Platform, 'clock' | 'database' | 'ledger'>;
  /** Requests of this process that have no answer yet: fingerprints by scope. */
  readonly #running = new Map<string, string>();
  readonly #longAnswers = new LongAnswers();

  constructor(platform: Pick<Platform, 'clock' | 'database' | 'ledger'>) {
    this.#platform = platform;
  }

  async answer(request: KeyedRequest): Promise<Rendered | Response> {
    const { scope, fingerprint } = request;
    const running = this.#running.get(scope);
    if (running !== undefined)
      throw running === fingerprint ? inProgress() : IdempotencyErrors.IDEMPOTENCY_KEY_REUSED();
    this.#running.set(scope, fingerprint);
    try {
      return await this.#answer(request);
    } finally {
      this.#running.delete(scope);
    }
  }

  async #answer(request: KeyedRequest): Promise<Rendered | Response> {
    const { scope, fingerprint, route } = request;
    const { clock, database, ledger } = this.#platform;
    // The ledger itself reads the row when it makes the decision.
    if (!route.provedByLedger) {
      const row = await findAnswer(database.read, scope, clock.now());
      if (row) return this.#replay(request, row);
    }
    const keyed = new KeyedLedger(ledger, () => clock.now(), {
      scope,
      fingerprint,
      admitLong: (chars, now) => this.#longAnswers.admit(request.owner, chars, now),
    });
    let answer: Rendered | Response;
    try {
      // Inherits everything else, at a fraction of the cost of a copy.
      answer = await request.carryOut(Object.assign(Object.create(this.#platform), { ledger: keyed }) as Platform);
    } catch (error) {
      if (!(error instanceof AlreadyAnswered)) answer = await request.fail(error);
      else answer = new Response(null);
    }
    await keyed.settle(() => (keyed.found ? undefined : settledBy(request, answer)));
    if (keyed.found) return this.#replay(request, keyed.found);
    return keyed.repeated ? marked(answer) : answer;
  }

  /** Returns the answer of the first request. Throws if it cannot be returned. */
  #replay({ fingerprint, usualHeaders }: KeyedRequest, row: IdempotencyKeyRow): Rendered {
    if (row.fingerprint !== fingerprint) throw IdempotencyErrors.IDEMPOTENCY_KEY_REUSED();
    if (row.kind === 'secret') throw IdempotencyErrors.IDEMPOTENCY_SECRET_GONE();
    if (row.kind === 'unfinished' && this.#platform.clock.now() - row.created_at < UNFINISHED_MS) throw inProgress();
    if (row.kind !== 'answer' || row.answer === null) throw IdempotencyErrors.IDEMPOTENCY_ANSWER_GONE();
    const { status, headers, body } = JSON.parse(row.answer) as KeptRendered;
    const { 'content-type': type, ...others } = usualHeaders;
    const usual = body === null || type === undefined ? others : usualHeaders;
    return marked({ status, headers: { ...usual, ...headers }, body });
  }
}

const inProgress = (): LegateError =>
  IdempotencyErrors.IDEMPOTENCY_IN_PROGRESS({ headers: { 'retry-after': String(RETRY_AFTER_S) } });

const marked = <A extends Rendered | Response>(answer: A): A => {
  if (answer instanceof Response) answer.headers.set('idempotent-replayed', 'true');
  return answer instanceof Response
    ? answer
    : { ...answer, headers: { ...answer.headers, 'idempotent-replayed': 'true' } };
};

function settledBy({ route, usualHeaders }: KeyedRequest, answer: Rendered | Response): Settled | undefined {
  const { status } = answer;
  if (status >= 500 || NOT_KEPT.has(status)) return undefined;
  if (answer instanceof Response || holdsSecret(route, answer)) return { kind: 'secret' };
  const headers = Object.entries(answer.headers).filter(([name, value]) => usualHeaders[name] !== value);
  return {
    kind: 'answer',
    answer: { status, headers: Object.fromEntries(headers), body: answer.body } satisfies KeptRendered,
  };
}

function holdsSecret({ secrets }: Route<Platform>, { status, headers, cookies, body }: Rendered): boolean {
  if (cookies !== undefined || headers['set-cookie'] !== undefined) return true;
  if (!secrets || status >= 400 || body === null) return false;
  const fields = JSON.parse(body) as Record<string, unknown>;
  return secrets.some((name) => fields[name] !== undefined && fields[name] !== null);
}
