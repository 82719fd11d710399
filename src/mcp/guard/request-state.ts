import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Encrypted, type SealKey, seal, unseal } from '../../kernel/encryption.ts';
import type { GuardOptions, McpAuth } from './guard-options.ts';
import { isObject, type Message, paramsOf } from './json-rpc.ts';

const PURPOSE = 'mcp request state';
const LIFE_MS = 15 * 60_000;
const MAX_USED = 20_000;

/** State between a call that waits for a person and its repetition. */
export interface Waiting {
  readonly approvalId: string;
  /** The decision that the call needs an approval. */
  readonly auditId?: string | undefined;
  /** Number of repetitions of the call. */
  readonly round: number;
  /** The client's own values for the server at the first attempt. */
  readonly held?: { readonly requestState?: unknown; readonly inputResponses?: unknown };
}

/** The kinds of state: of a call that waits for an approval, and of one that waits for input for its server. */
export type StateKind = 'approval' | 'input';

/**
 * The `requestState` of an answer that asks for input (MCP 2026-07-28). It is encrypted, bound to its kind, server,
 * caller, client, method and parameters, and valid once, for a quarter of an hour.
 */
export class RequestStates<T extends object> {
  readonly #keys: () => readonly SealKey[];
  readonly #endpoint: string;
  readonly #prefix: string;
  readonly #used = new LRUCache<string, true>({ max: MAX_USED, ttl: LIFE_MS });

  /** Servers share the keys, so a state is also bound to the endpoint that made it. */
  constructor(keys: () => readonly SealKey[], endpoint: string, kind: StateKind) {
    this.#keys = keys;
    this.#endpoint = endpoint;
    this.#prefix = `legate.${kind}.`;
  }

  isOurs = (state: unknown): state is string => typeof state === 'string' && state.startsWith(this.#prefix);

  make(auth: McpAuth, message: Message, waiting: T): string {
    const plain = JSON.stringify({ ...waiting, once: randomUUID(), ends: Date.now() + LIFE_MS });
    return this.#prefix + seal(this.#keys(), PURPOSE, this.#binding(auth, message), plain);
  }

  /** Returns undefined if the state belongs to another call, was modified, was used before, or has expired. */
  take(auth: McpAuth, message: Message, state: string): T | undefined {
    let read: T & { once: string; ends: number };
    try {
      const sealed = state.slice(this.#prefix.length) as Encrypted;
      read = JSON.parse(unseal(this.#keys(), PURPOSE, this.#binding(auth, message), sealed));
    } catch {
      return undefined;
    }
    const { once, ends, ...waiting } = read;
    if (Date.now() >= ends || this.#used.has(once)) return undefined;
    this.#used.set(once, true);
    return waiting as unknown as T;
  }

  #binding(auth: McpAuth, message: Message): string {
    return binding(this.#prefix, this.#endpoint, auth, message);
  }
}

/** Parameters in which a repetition differs from the original call. */
const OF_THE_ATTEMPT = new Set(['_meta', 'requestState', 'inputResponses']);

function binding(
  kind: string,
  endpoint: string,
  { agentId, actorId = '', userId, clientId }: McpAuth,
  message: Message,
): string {
  const params = Object.fromEntries(Object.entries(paramsOf(message)).filter(([name]) => !OF_THE_ATTEMPT.has(name)));
  const digest = createHash('sha256').update(canonical(params)).digest('base64url');
  return JSON.stringify([kind, endpoint, agentId, actorId, userId, clientId, String(message['method']), digest]);
}

/** Serialises a value independently of the order of its members. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );

/** Returns the keys that all instances share, if there are any. */
export function stateKeys(options: GuardOptions): () => readonly SealKey[] {
  if ('legate' in options && options.legate.platform.secrets) {
    const { secrets } = options.legate.platform;
    return () => secrets().cookie;
  }
  const secret =
    'legate' in options || !options.decisions
      ? randomBytes(32)
      : createHmac('sha256', options.decisions.token).update('legate mcp request state').digest();
  const keys = [{ id: 'guard', key: secret.toString('base64url') }];
  return () => keys;
}
