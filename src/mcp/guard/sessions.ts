import { LRUCache } from 'lru-cache';

const MAX_SESSIONS = 20_000;
const MAX_WATCHED = 1000;
const LOOK_EVERY_MS = 1000;
const WATCH_MS = 15 * 60_000;

/** Inserts a complete event into an open stream. */
export type Inject = (event: string) => void;

interface Session {
  /** The owner of the session. Knowing the id is not enough (MCP security best practices, session hijacking). */
  readonly caller: string;
  readonly urlElicitation: boolean;
  readonly streams: Set<Inject>;
}

/** An approval that sessions wait for. */
interface Watched {
  readonly sessions: Set<Session>;
  ends: number;
}

/** Sessions of revisions before 2026-07-28 that were opened through this process. */
export class Sessions {
  readonly #open = new LRUCache<string, Session>({ max: MAX_SESSIONS });
  readonly #watched = new Map<string, Watched>();

  get(id: string | null): Session | undefined {
    return id === null ? undefined : this.#open.get(id);
  }

  opened(id: string, session: Omit<Session, 'streams'>): void {
    if (!this.#open.has(id)) this.#open.set(id, { ...session, streams: new Set() });
  }

  /**
   * Notifies the client on a stream of its session when a person has decided (`notifications/elicitation/complete`).
   * Several sessions may wait for the same approval.
   */
  watch(session: Session, approvalId: string, status: () => Promise<string | undefined>): void {
    const ends = performance.now() + WATCH_MS;
    const known = this.#watched.get(approvalId);
    if (known) {
      known.sessions.add(session);
      known.ends = ends;
    }
    if (known || this.#watched.size >= MAX_WATCHED) return;
    const watched: Watched = { sessions: new Set([session]), ends };
    this.#watched.set(approvalId, watched);
    const look = async (): Promise<void> => {
      const found = await status().catch(() => undefined);
      const isOpen = found === undefined || found === 'pending';
      if (isOpen && performance.now() < watched.ends) return again();
      this.#watched.delete(approvalId);
      if (isOpen) return;
      const message = { jsonrpc: '2.0', method: 'notifications/elicitation/complete' };
      for (const { streams } of watched.sessions) {
        // The newest, because an earlier one may be broken without the close being noticed.
        const inject = [...streams].at(-1);
        inject?.(`data: ${JSON.stringify({ ...message, params: { elicitationId: approvalId } })}\n\n`);
      }
    };
    const again = (): void => void setTimeout(() => void look(), LOOK_EVERY_MS).unref();
    again();
  }
}
