import { actorOf } from '../access/actor.ts';
import { actingAgent, type Principal } from '../access/principal.ts';
import type { BackgroundTasks } from '../kernel/background-tasks.ts';
import { type Clock, MINUTE_MS } from '../kernel/clock.ts';
import { LegateError } from '../kernel/errors.ts';
import type { Id } from '../kernel/ids.ts';
import type { LedgerPort } from '../ledger/index.ts';

/** What refusals are recorded with. */
interface Recording {
  readonly clock: Clock;
  readonly background: BackgroundTasks;
  readonly ledger: LedgerPort;
  readonly config: { readonly multiSession: { readonly trackIp: boolean } };
}

/** A refused request, as its event describes it. */
export interface RefusedRequest {
  readonly principal: Principal;
  readonly method: string;
  /** The pattern of the path, which contains neither ids nor tokens. */
  readonly route: string;
  readonly ip: string | null;
}

type Refusal = RefusedRequest & { readonly type: 'auth.denied' | 'auth.limited'; readonly code: string };

/** The refusals of one principal, or of all anonymous callers with one error code. */
interface Window {
  readonly startedAt: number;
  /** Number of refusals that are not in an event yet. */
  pending: number;
  latest: Refusal;
}

/** The window that started first is forgotten beyond this number, so that memory stays bounded. */
const MAX_WINDOWS = 10_000;

/**
 * Records requests that were answered with 403 or 429 as events (OWASP ASVS 5.0, 16.3.2). Each instance writes at most
 * one event per minute for each principal and type; all anonymous callers share one per minute for each error code, so
 * that strangers cannot fill the ledger. Refusals in between are counted in the next event, which is written after that
 * minute or when the service stops. Events are written in the background: neither the duration nor a failure of the
 * write reaches the caller.
 */
export class RefusalEvents {
  /** In the order of their start. */
  readonly #windows = new Map<string, Window>();

  /** Does nothing for errors of other statuses. */
  record(to: Recording, thrown: unknown, request: RefusedRequest): void {
    if (!(thrown instanceof LegateError) || (thrown.status !== 403 && thrown.status !== 429)) return;
    const type = thrown.status === 403 ? 'auth.denied' : 'auth.limited';
    const latest: Refusal = { ...request, type, code: thrown.code };
    const { kind, id } = actorOf(request.principal, null);
    const key = id === null ? `anonymous ${thrown.code}` : `${kind} ${id} ${type}`;
    const now = to.clock.now();
    const previous = this.#windows.get(key);
    if (previous && now - previous.startedAt < MINUTE_MS) {
      previous.pending++;
      previous.latest = latest;
      return;
    }
    const countedBefore = previous?.pending ?? 0;
    this.#write(to, this.#start(key, { startedAt: now, pending: countedBefore + 1, latest }), countedBefore);
  }

  /** Writes the refusals that were left out of windows that have ended, or of every window. */
  flush(to: Recording, every = false): void {
    const now = to.clock.now();
    for (const [key, window] of [...this.#windows]) {
      if (!every && now - window.startedAt < MINUTE_MS) continue;
      const { pending, latest } = window;
      if (pending === 0) this.#windows.delete(key);
      else this.#write(to, this.#start(key, { startedAt: now, pending, latest }), pending - 1);
    }
  }

  #start(key: string, window: Window): Window {
    this.#windows.delete(key);
    this.#windows.set(key, window);
    for (const oldest of this.#windows.keys()) {
      if (this.#windows.size <= MAX_WINDOWS) break;
      this.#windows.delete(oldest);
    }
    return window;
  }

  /** Writes the pending refusals of a window, including those that arrive until the write begins, as one event. */
  #write(to: Recording, window: Window, countedBefore: number): void {
    const { type, code, method, route, principal, ip: address } = window.latest;
    const ip = to.config.multiSession.trackIp ? address : null;
    to.background.run(`recording ${type}`, async () => {
      const count = window.pending;
      window.pending = 0;
      try {
        await to.ledger.change(actorOf(principal, ip), async (change) => {
          change.emit({
            type,
            ...subjectOf(principal),
            data: { code, method, route, ip, count, ...(countedBefore > 0 ? { countedBefore } : {}) },
          });
        });
      } catch (error) {
        window.pending += count;
        throw error;
      }
    });
  }
}

/** The agent and the person who may see the event; administrators see every event. */
function subjectOf(principal: Principal): { agentId?: Id<'agent'>; userId?: Id<'user'> } {
  switch (principal.kind) {
    case 'anonymous':
      return {};
    case 'agent':
      return { agentId: principal.agentId, userId: principal.ownerId };
    default: {
      const agentId = actingAgent(principal);
      return { userId: principal.userId, ...(agentId === undefined ? {} : { agentId }) };
    }
  }
}
