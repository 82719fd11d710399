import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { McpAuth } from '../guard/guard-options.ts';
import type { Message } from '../guard/json-rpc.ts';
import type { EventStream } from './event-stream.ts';
import { personOf } from './upstreams.ts';

const MAX_SESSIONS = 20_000;

/** A client's session, in revisions of MCP before 2026-07-28. */
export interface Session {
  readonly id: string;
  readonly caller: string;
  /** The connection to the server that its requests use. */
  readonly key: string;
  readonly streams: Set<EventStream>;
  /** URIs of the resources that the client listens to. */
  readonly subscriptions: Set<string>;
  /** Requests in progress, by the client's id. */
  readonly running: Map<unknown, AbortController>;
}

/** Names the caller, for whom nobody else may act. */
export const callerOf = ({ agentId, actorId, userId }: McpAuth): string => `${agentId} ${actorId ?? ''} ${userId}`;

export const newSessionId = (): string => randomBytes(24).toString('base64url');

/** The sessions of one server. Those unused for longest end first. */
export class ClientSessions {
  readonly #open = new LRUCache<string, Session>({
    max: MAX_SESSIONS,
    dispose: ({ streams }) => {
      for (const stream of streams) stream.end();
    },
  });

  open(auth: McpAuth, id: string, key: string): Session {
    const caller = callerOf(auth);
    const session = {
      id,
      caller,
      key,
      streams: new Set<EventStream>(),
      subscriptions: new Set<string>(),
      running: new Map(),
    };
    this.#open.set(id, session);
    return session;
  }

  /** Returns undefined for a session of another caller. */
  find(auth: McpAuth, id: string): Session | undefined {
    const session = this.#open.get(id);
    return session?.caller === callerOf(auth) ? session : undefined;
  }

  end(id: string): void {
    this.#open.delete(id);
  }

  clear(): void {
    this.#open.clear();
  }

  /** Whether a session of this connection listens to a resource. */
  isSubscribed(key: string, uri: string): boolean {
    return [...this.#open.values()].some((session) => session.key === key && session.subscriptions.has(uri));
  }

  /** Passes a notification of the server to the sessions that use its connection, or a connection of this person. */
  notify(key: string | undefined, method: string, params: Message): void {
    for (const session of this.#open.values()) {
      if (key !== undefined && session.key !== key && personOf(session.key) !== key) continue;
      if (method === 'notifications/resources/updated' && !session.subscriptions.has(String(params['uri']))) continue;
      const [stream] = session.streams;
      stream?.send({ jsonrpc: '2.0', method, params });
    }
  }
}
