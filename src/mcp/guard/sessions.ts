import { LRUCache } from 'lru-cache';

const MAX_SESSIONS = 20_000;
const MAX_WATCHED = 1000;
const LOOK_EVERY_MS = 1000;
const WATCH_MS = 15 * 60_000;

/** Inserts a complete event into an open stream. */
export type Inject = (event: string) => void;

interface Session {
  /** The agent that owns the session. Knowing the id is not enough (MCP security best practices, session hijacking). */
  readonly agentId: string;
  readonly urlElicitation: boolean;
  readonly streams: Set<Inject>;
}

/** Sessions of revisions before 2026-07-28 that were opened through this process. */
export class Sessions {
  readonly #open = new LRUCache<string, Session>({ max: MAX_SESSIONS });
  readonly #watched = new Set<string>();

  get(id: string | null): Session | undefined {
    return id === null ? undefined : this.#open.get(id);
  }

  opened(id: string, session: Omit<Session, 'streams'>): void {
    if (!this.#open.has(id)) this.#open.set(id, { ...session, streams: new Set() });
  }

  /**
   * Notifies the client on a stream of its session when a person has decided (`notifications/elicitation/complete`).
   */
  watch(session: Session, approvalId: string, status: () => Promise<string | undefined>): void {
    if (this.#watched.has(approvalId) || this.#watched.size >= MAX_WATCHED) return;
    this.#watched.add(approvalId);
    const ends = performance.now() + WATCH_MS;
    const look = async (): Promise<void> => {
      const found = await status().catch(() => undefined);
      if (found === 'pending' && performance.now() < ends) return again();
      this.#watched.delete(approvalId);
      if (found === undefined || found === 'pending') return;
      const message = { jsonrpc: '2.0', method: 'notifications/elicitation/complete' };
      // The newest, because an earlier one may be broken without the close being noticed.
      const inject = [...session.streams].at(-1);
      inject?.(`data: ${JSON.stringify({ ...message, params: { elicitationId: approvalId } })}\n\n`);
    };
    const again = (): void => void setTimeout(() => void look(), LOOK_EVERY_MS).unref();
    again();
  }
}
