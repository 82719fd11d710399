import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { isReservedName } from '../guard/asks.ts';
import { isObject } from '../guard/json-rpc.ts';
import { canonicalJson } from './canonical-json.ts';

const Hash = z.string().regex(/^sha256-[A-Za-z0-9_-]{43}$/);
/** Tools of all remembered lists. */
const MAX_LISTED = 500_000;
const MAX_REMEMBERED_CHARS = 20_000_000;
const LockedTool = z.strictObject({ description: Hash, contract: Hash });
/** `z.record` would drop a tool named `__proto__`. */
const LockedTools = z
  .custom<Record<string, z.output<typeof LockedTool>>>(isObject, 'is not an object')
  .superRefine((tools, context) => {
    for (const [name, tool] of Object.entries(tools))
      for (const issue of LockedTool.safeParse(tool).error?.issues ?? [])
        context.addIssue({ code: 'custom', path: [name, ...issue.path], message: issue.message });
  });

/** The content of legate.gateway.lock.json: for each server, the hashes of its tools. */
export const LockFile = z.strictObject({
  version: z.literal(1),
  servers: z.record(z.string(), LockedTools),
});
export type Lock = z.output<typeof LockFile>;
type LockedTools = Lock['servers'][string];

/** A tool as `tools/list` returns it. */
export interface Tool {
  readonly name: string;
  readonly [member: string]: unknown;
}

const hash = (value: unknown): string =>
  `sha256-${createHash('sha256').update(canonicalJson(value)).digest('base64url')}`;

/**
 * Returns two hashes for each tool: one of its description, one of its schemas, annotations and everything else.
 * Titles, icons, order, and white space in the description are cosmetic and not hashed.
 */
export function lockOf(tools: readonly Tool[]): LockedTools {
  const entries = tools.map(({ title: _title, icons: _icons, description, ...contract }) => {
    const text = typeof description === 'string' ? description.replace(/[ \t\r\n]+/g, ' ').trim() : description;
    return [contract.name, { description: hash(text ?? null), contract: hash(contract) }] as const;
  });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Hashes of one definition. */
export interface Hashes {
  /** Hash of the whole definition. */
  readonly whole: string;
  /** Hash of the definition without its cosmetic parts. */
  readonly pin: string;
}

function hashesOf(tool: Tool): Hashes {
  const [locked] = Object.values(lockOf([tool]));
  return { whole: hash(tool), pin: hash(locked) };
}

/** The tools of one server as listed last on each of its connections. */
export class Definitions {
  /** The connection that was used last comes first. */
  readonly #listed = new LRUCache<string, ReadonlyMap<string, Hashes>>({
    maxSize: MAX_LISTED,
    sizeCalculation: ({ size }) => size + 1,
  });
  /** Definitions by their JSON, because connections list the same ones repeatedly. */
  readonly #hashes = new LRUCache<string, Hashes>({
    maxSize: MAX_REMEMBERED_CHARS,
    sizeCalculation: (_hashes, { length }) => length + 1,
  });

  /** Leaves out reserved names, and definitions without a canonical form: those with unpaired surrogates. */
  set(key: string, tools: readonly Tool[]): ReadonlyMap<string, Hashes> {
    const listed = new Map<string, Hashes>();
    for (const tool of tools) {
      const hashes = isReservedName(tool.name) ? undefined : this.#hash(tool);
      if (hashes) listed.set(tool.name, hashes);
    }
    this.#listed.set(key, listed);
    return listed;
  }

  #hash(tool: Tool): Hashes | undefined {
    const text = JSON.stringify(tool);
    const known = this.#hashes.get(text);
    if (known) return known;
    try {
      const hashes = hashesOf(tool);
      this.#hashes.set(text, hashes);
      return hashes;
    } catch {
      return undefined;
    }
  }

  /** Returns whether the last list of a connection is remembered. */
  has(key: string): boolean {
    return this.#listed.has(key);
  }

  /** Returns the names of the tools that a connection listed last. */
  listedOn(key: string): string[] {
    return [...(this.#listed.peek(key)?.keys() ?? [])];
  }

  /** Returns whether a tool may exist: false only if lists are known and do not contain it. */
  allows(tool: string, key?: string): boolean {
    return this.#listed.size === 0 || this.hashesOf(tool, key) !== undefined;
  }

  /**
   * Returns the hashes of a tool as this connection listed it. If this connection has not listed any tools, returns the
   * hashes that another connection listed last.
   */
  hashesOf(tool: string, key?: string): Hashes | undefined {
    const own = key === undefined ? undefined : this.#listed.get(key);
    if (own) return own.get(tool);
    for (const tools of this.#listed.values()) {
      const found = tools.get(tool);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** Returns the differences from the recorded tools, one line for each tool. */
export function compareDefinitions(recorded: LockedTools, current: LockedTools): string[] {
  const names = [...new Set([...Object.keys(recorded), ...Object.keys(current)])].sort();
  return names.flatMap((name) => {
    const before = Object.hasOwn(recorded, name) ? recorded[name] : undefined;
    const now = Object.hasOwn(current, name) ? current[name] : undefined;
    if (!before) return [`${name}: new tool`];
    if (!now) return [`${name}: removed`];
    const changes = [
      ...(before.description === now.description ? [] : ['description']),
      ...(before.contract === now.contract ? [] : ['schema or annotations']),
    ];
    return changes.length === 0 ? [] : [`${name}: ${changes.join(' and ')} changed`];
  });
}
