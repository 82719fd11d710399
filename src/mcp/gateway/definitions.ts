import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { canonicalJson } from './canonical-json.ts';

const Hash = z.string().regex(/^sha256-[A-Za-z0-9_-]{43}$/);
const MAX_CONNECTIONS = 1000;
const LockedTool = z.strictObject({ description: Hash, contract: Hash });

/** The form of legate.gateway.lock.json: for each server, the hashes of its tools. */
export const LockFile = z.strictObject({
  version: z.literal(1),
  servers: z.record(z.string(), z.record(z.string(), LockedTool)),
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
 * Returns the hashes of tools: one of the description, one of schemas, annotations and everything else. Titles, icons,
 * order and white space of the description are cosmetic and not hashed.
 */
export function lockOf(tools: readonly Tool[]): LockedTools {
  const entries = tools.map(({ title: _title, icons: _icons, description, ...contract }) => {
    const text = typeof description === 'string' ? description.replace(/[ \t\r\n]+/g, ' ').trim() : description;
    return [contract.name, { description: hash(text ?? null), contract: hash(contract) }] as const;
  });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The tools of one server as it listed them last, over each of its connections. */
export class Definitions {
  readonly #listed = new LRUCache<string, ReadonlyMap<string, string>>({ max: MAX_CONNECTIONS });

  set(key: string, tools: readonly Tool[]): void {
    this.#listed.set(key, new Map(tools.map((tool) => [tool.name, hash(tool)])));
  }

  /** Whether a tool may be called: false only if lists are known and none has it. */
  allows(tool: string): boolean {
    return this.#listed.size === 0 || this.hashOf(tool) !== undefined;
  }

  /** Returns the hash of a tool's whole definition. */
  hashOf(tool: string): string | undefined {
    for (const tools of this.#listed.values()) {
      const found = tools.get(tool);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** Returns what differs from the recorded tools, a line for each tool. */
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
