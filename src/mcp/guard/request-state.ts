import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type SealKey, seal, unseal } from '../../kernel/encryption.ts';
import type { GuardOptions, McpAuth } from './guard-options.ts';
import { isObject, type Message, paramsOf } from './json-rpc.ts';

const PREFIX = 'legate.';
const PURPOSE = 'mcp request state';
const LIFE_MS = 15 * 60_000;
const MAX_USED = 20_000;

/** State between a call that waits for a person and its repetition. */
export interface Waiting {
  readonly approvalId: string;
  /** Number of repetitions of the call. */
  readonly round: number;
  /** The client's own values for the server at the first attempt. */
  readonly held?: { readonly requestState?: unknown; readonly inputResponses?: unknown };
}

/**
 * The `requestState` of an answer that asks for an approval (MCP 2026-07-28). It is encrypted, bound to server,
 * caller, client, method and parameters, and valid once, for a quarter of an hour.
 */
export class RequestStates {
  readonly #keys: () => readonly SealKey[];
  readonly #endpoint: string;
  readonly #used = new LRUCache<string, true>({ max: MAX_USED, ttl: LIFE_MS });

  /** Servers share the keys, so a state is also bound to the endpoint that made it. */
  constructor(keys: () => readonly SealKey[], endpoint: string) {
    this.#keys = keys;
    this.#endpoint = endpoint;
  }

  isOurs = (state: unknown): state is string => typeof state === 'string' && state.startsWith(PREFIX);

  make(auth: McpAuth, message: Message, waiting: Waiting): string {
    const plain = JSON.stringify({ ...waiting, once: randomUUID(), ends: Date.now() + LIFE_MS });
    return PREFIX + seal(this.#keys(), PURPOSE, binding(this.#endpoint, auth, message), plain);
  }

  /** Returns undefined if the state belongs to another call, was modified, was used before, or has expired. */
  take(auth: McpAuth, message: Message, state: string): Waiting | undefined {
    let read: Waiting & { once: string; ends: number };
    try {
      read = JSON.parse(
        unseal(this.#keys(), PURPOSE, binding(this.#endpoint, auth, message), state.slice(PREFIX.length)),
      );
    } catch {
      return undefined;
    }
    const { once, ends, ...waiting } = read;
    if (Date.now() >= ends || this.#used.has(once)) return undefined;
    this.#used.set(once, true);
    return waiting;
  }
}

/** Parameters in which a repetition differs from the original call. */
const OF_THE_ATTEMPT = new Set(['_meta', 'requestState', 'inputResponses']);

function binding(endpoint: string, { agentId, actorId = '', userId, clientId }: McpAuth, message: Message): string {
  const params = Object.fromEntries(Object.entries(paramsOf(message)).filter(([name]) => !OF_THE_ATTEMPT.has(name)));
  const digest = createHash('sha256').update(canonical(params)).digest('base64url');
  return JSON.stringify([endpoint, agentId, actorId, userId, clientId, String(message['method']), digest]);
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
