import { newId } from '../../src/kernel/ids.ts';
import { writeDecided } from '../../src/ledger/index.ts';
import type { Random } from './random.ts';
import type { TestService } from './service.ts';

/** A row of the ledger in the plain model. */
export interface ModelRow {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly timestamp: number;
  readonly agentId: string | null;
  readonly userId: string | null;
  readonly tenantId: string | null;
  readonly action: string | null;
  readonly resource: string | null;
  readonly result: string | null;
  readonly reason: string | null;
  readonly ip: string | null;
  readonly delegationId: readonly string[];
  readonly clientId: string | null;
}

export const VALUES = {
  action: ['read', 'write', 'execute', 'a,b'],
  resource: [
    'mcp:github:issues',
    'mcp:github:issues:1',
    'mcp:github',
    'mcp:githubevil:x',
    'mcp',
    'db:ü:1',
    'db::x',
    ':odd',
    'a:'.repeat(20),
    '*',
  ],
  reason: ['NO_PERMISSION', 'RATE_LIMITED', 'IP_NOT_ALLOWED'],
  ip: ['192.0.2.1', '192.0.2.2', '2001:db8::1'],
  delegationId: ['dlg_a', 'dlg_b', 'dlg_c'],
  clientId: ['cli_a', 'cli_b'],
  result: ['allowed', 'denied', 'rate_limited'],
} as const;

const CHAINS = [['dlg_a'], ['dlg_a', 'dlg_b'], ['dlg_b'], ['dlg_c', 'dlg_b', 'dlg_a']];
const TYPES = ['agent.updated', 'cost.recorded'];

export interface People {
  readonly agents: readonly { readonly id: string; readonly userId: string; readonly tenantId: string | null }[];
}

/** Appends random rows to the ledger: decisions and some other events. Several may share a timestamp. */
export async function appendRandom(t: TestService, { agents }: People, rows: number, r: Random): Promise<ModelRow[]> {
  const one = <T>(list: readonly T[]): T => list[r.below(list.length)] as T;
  const db = t.legate.platform.database.write;
  const head = await db.selectFrom('head').selectAll().executeTakeFirstOrThrow();
  const made: ModelRow[] = [];
  for (let i = 0; i < rows; i++) {
    t.clock.advance([0, 0, 1, 7, 1000][r.below(5)] as number);
    const now = Math.max(head.clock, t.clock.now());
    const agent = one(agents);
    const base = { seq: head.seq + 1 + i, timestamp: now, agentId: agent.id, userId: agent.userId };
    const decision = r.below(8) > 0;
    const result = decision ? one(VALUES.result) : null;
    made.push({
      ...base,
      tenantId: agent.tenantId,
      id: newId(decision ? 'audit' : 'event', now),
      type: decision ? 'audit' : one(TYPES),
      action: decision ? one(VALUES.action) : null,
      resource: decision ? one(VALUES.resource) : null,
      result,
      reason: result === null || result === 'allowed' ? null : one(VALUES.reason),
      ip: decision && r.below(3) > 0 ? one(VALUES.ip) : null,
      delegationId: decision && r.below(2) > 0 ? one(CHAINS) : [],
      clientId: one([...VALUES.clientId, null]),
    });
  }
  const columns = made.map((row) => ({
    seq: row.seq,
    id: row.id,
    type: row.type,
    timestamp: row.timestamp,
    agent_id: row.agentId,
    user_id: row.userId,
    action: row.action,
    resource: row.resource,
    result: row.result,
    reason: row.reason,
    duration_ms: row.type === 'audit' ? 0.5 : null,
    parameters: row.type === 'audit' ? '{}' : null,
    ip: row.ip,
    delegation_ids: row.delegationId.length > 0 ? JSON.stringify(row.delegationId) : null,
    data: row.type === 'audit' ? null : '{}',
    decided:
      row.type === 'audit' && row.clientId !== null
        ? writeDecided({ pattern: 'x:*', askedBy: { kind: 'accessToken', id: 'agt_x', clientId: row.clientId } })
        : null,
    change:
      row.type === 'audit'
        ? null
        : JSON.stringify({
            actor: { kind: 'accessToken', id: row.agentId, ...(row.clientId ? { clientId: row.clientId } : {}) },
          }),
  }));
  for (let at = 0; at < columns.length; at += 500)
    await db
      .insertInto('stream_events')
      .values(columns.slice(at, at + 500) as never)
      .execute();
  const clock = Math.max(head.clock, t.clock.now());
  await db
    .updateTable('head')
    .set({ seq: head.seq + rows, clock })
    .execute();
  return made;
}

type Field = Exclude<keyof ModelRow, 'seq' | 'timestamp'>;

/** A filter as in the URL: `agentId=a&not.reason=b`. */
export type ModelQuery = readonly (readonly [name: string, value: string])[];

const fits = (row: ModelRow, name: string, value: string): boolean => {
  if (name === 'ids') return value.split(',').some((id) => id.slice(4) === row.id.slice(4));
  if (name === 'resource') {
    const { resource } = row;
    if (resource === null) return false;
    if (value === '*') return true;
    return value.endsWith(':*')
      ? resource.startsWith(value.slice(0, -1)) && resource.length >= value.length
      : resource === value;
  }
  const own = row[(name === 'ownerId' ? 'userId' : name) as Field];
  return Array.isArray(own) ? own.includes(value) : own === value;
};

/** The plain filter with which the index is compared. */
export function modelFilter(rows: readonly ModelRow[], query: ModelQuery): ModelRow[] {
  const names = [...new Set(query.map(([name]) => name))];
  return rows.filter((row) =>
    names.every((name) => {
      const values = query.filter(([other]) => other === name).map(([, value]) => value);
      const not = name.startsWith('not.');
      return values.some((value) => fits(row, not ? name.slice(4) : name, value)) !== not;
    }),
  );
}

/** A random filter of one to three names, some of them negated and some repeated. */
export function randomQuery(rows: readonly ModelRow[], { agents }: People, r: Random): ModelQuery {
  const one = <T>(list: readonly T[]): T => list[r.below(list.length)] as T;
  const some = (): Record<string, string> => ({
    agentId: one(agents).id,
    userId: one(agents).userId,
    ownerId: one(agents).userId,
    tenantId: one(agents).tenantId ?? 'tnt_none',
    ids: Array.from({ length: 1 + r.below(4) }, () => one(rows).id).join(),
    action: one(VALUES.action),
    resource: one([...VALUES.resource, 'mcp:*', 'mcp:github:*', 'db:*', 'db::*', ':*', 'a:a:a:*', 'none:*']),
    result: one(VALUES.result),
    reason: one(VALUES.reason),
    ip: one([...VALUES.ip, '203.0.113.9']),
    delegationId: one([...VALUES.delegationId, 'dlg_none']),
    clientId: one([...VALUES.clientId, 'cli_none']),
  });
  const query: [string, string][] = [];
  const names = Object.keys(some());
  for (let i = 0; i <= r.below(3); i++) {
    const name = one(names);
    const key = r.below(3) === 0 ? `not.${name}` : name;
    if (query.some(([other]) => other === key)) continue;
    const values = new Set(Array.from({ length: name === 'ids' ? 1 : 1 + r.below(2) }, () => some()[name] as string));
    for (const value of values) query.push([key, value]);
  }
  return query;
}

export const asSearch = (query: ModelQuery, more: Readonly<Record<string, string>> = {}): string =>
  String(
    new URLSearchParams([...query.map(([name, value]): [string, string] => [name, value]), ...Object.entries(more)]),
  );
