import { isoTime } from '../../kernel/clock.ts';
import { redact } from '../../kernel/redact.ts';
import { storedObject } from '../../ledger/index.ts';
import type { AgentRow, DelegationRow } from '../../storage/index.ts';
import { type Permission, storedPermissions } from '../permissions/index.ts';

/** Whether it was revoked. Expiry follows from the clock and does not create a version. */
type Status = 'active' | 'revoked';

/** The content of an agent's version: without its token, and with redacted metadata. */
export interface AgentSnapshot {
  readonly ownerId: string;
  readonly name: string;
  readonly type: AgentRow['type'];
  readonly status: Status;
  readonly permissions: readonly Permission[];
  readonly expiresAt: string | null;
  /** Only while the owner is suspended. */
  readonly ownerSuspended?: true;
  /** Absent in the first version of agents that are older than versions. */
  readonly metadata?: unknown;
}

export interface DelegationSnapshot {
  readonly fromAgent: string;
  readonly toAgent: string;
  readonly status: Status;
  readonly permissions: readonly Permission[];
  readonly depth: number;
  readonly maxDepth: number;
  readonly expiresAt: string | null;
  /** Latest end, when all its parent delegations have ended. */
  readonly endsAt: string | null;
}

const statusOf = ({ revoked_at }: { readonly revoked_at: number | null }): Status =>
  revoked_at === null ? 'active' : 'revoked';
const time = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

export const agentSnapshot = (row: AgentRow, redactedKeys: ReadonlySet<string>): AgentSnapshot => ({
  ownerId: row.owner_id,
  name: row.name,
  type: row.type,
  status: statusOf(row),
  permissions: storedPermissions(row),
  expiresAt: time(row.expires_at),
  ...(row.owner_suspended === 0 ? {} : { ownerSuspended: true }),
  metadata: redact(storedObject(row.metadata), redactedKeys),
});

export const delegationSnapshot = (row: DelegationRow): DelegationSnapshot => ({
  fromAgent: row.from_agent,
  toAgent: row.to_agent,
  status: statusOf(row),
  permissions: storedPermissions(row),
  depth: row.depth,
  maxDepth: row.max_depth,
  expiresAt: time(row.expires_at),
  endsAt: time(row.ends_at),
});
