import type { Kysely } from 'kysely';
import type { MigrationContext } from '../migrate.ts';

const ROWS_AT_ONCE = 500;
/** Types of events that are not changes, as of this migration. */
const NOT_CHANGES = [
  'audit',
  'anomaly.detected',
  'auth.signin',
  'auth.signout',
  'auth.failed',
  'auth.denied',
  'auth.limited',
  'budget.exceeded',
  'cost.recorded',
];

interface EventRow {
  seq: number;
  id: string;
  type: string;
  timestamp: number;
  agent_id: string | null;
  user_id: string | null;
  data: string | null;
  change: string | null;
}
interface AgentRow {
  id: string;
  owner_id: string;
  name: string;
  type: string;
  revoked_at: number | null;
  expires_at: number | null;
  permissions: string;
}
interface DelegationRow {
  id: string;
  from_agent: string;
  to_agent: string;
  permissions: string;
  depth: number;
  max_depth: number;
  expires_at: number | null;
  ends_at: number | null;
  revoked_at: number | null;
}
interface OldTables {
  head: { id: number; seq: number; clock: number };
  stream_events: EventRow;
  agents: AgentRow;
  delegations: DelegationRow;
  changes: Omit<EventRow, 'data'> & { actor_id: string | null; data: string };
  change_subjects: { subject: string; seq: number };
  versions: {
    subject: string;
    seq: number;
    version: number;
    timestamp: number;
    type: string | null;
    actor: string;
    state: string;
  };
}

/**
 * Entries say what decided and who asked, changes can be listed by subject and actor, and agents and delegations have
 * versions. What exists gets its first version here, with the system as its actor; which change made it so was not
 * recorded.
 */
export function history({ dialect, prefix }: MigrationContext) {
  const int = dialect === 'sqlite' ? 'integer' : 'bigint';
  return {
    async up(untyped: Kysely<unknown>): Promise<void> {
      const db = untyped as Kysely<OldTables>;
      const s = db.schema;
      await s.alterTable('stream_events').addColumn('decided', 'text').execute();
      await s
        .createTable('changes')
        .addColumn('seq', int, (c) => c.primaryKey())
        .addColumn('id', 'text', (c) => c.notNull())
        .addColumn('type', 'text', (c) => c.notNull())
        .addColumn('timestamp', int, (c) => c.notNull())
        .addColumn('agent_id', 'text')
        .addColumn('user_id', 'text')
        .addColumn('actor_id', 'text')
        .addColumn('data', 'text', (c) => c.notNull())
        .addColumn('change', 'text')
        .execute();
      for (const column of ['type', 'agent_id', 'user_id', 'actor_id'])
        await s.createIndex(`${prefix}changes_${column}`).on('changes').columns([column, 'seq']).execute();
      await s
        .createTable('change_subjects')
        .addColumn('subject', 'text', (c) => c.notNull())
        .addColumn('seq', int, (c) => c.notNull())
        .addPrimaryKeyConstraint(`${prefix}change_subjects_key`, ['subject', 'seq'])
        .execute();
      await s
        .createTable('versions')
        .addColumn('subject', 'text', (c) => c.notNull())
        .addColumn('seq', int, (c) => c.notNull())
        .addColumn('version', int, (c) => c.notNull())
        .addColumn('timestamp', int, (c) => c.notNull())
        .addColumn('type', 'text')
        .addColumn('actor', 'text', (c) => c.notNull())
        .addColumn('state', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint(`${prefix}versions_key`, ['subject', 'seq'])
        .execute();
      await copyChanges(db);
      await addFirstVersions(db);
    },
  };
}

async function copyChanges(db: Kysely<OldTables>): Promise<void> {
  const query = db
    .selectFrom('stream_events')
    .select(['seq', 'id', 'type', 'timestamp', 'agent_id', 'user_id', 'data', 'change'])
    .where('type', 'not in', NOT_CHANGES)
    .orderBy('seq')
    .limit(ROWS_AT_ONCE);
  for (let after = 0; ; ) {
    const rows = await query.where('seq', '>', after).execute();
    const last = rows.at(-1);
    if (!last) return;
    await db
      .insertInto('changes')
      .values(
        rows.map((row) => ({
          ...row,
          data: row.data ?? '{}',
          actor_id: (JSON.parse(row.change ?? '{}') as { actor?: { id?: string } }).actor?.id ?? null,
        })),
      )
      .execute();
    const subjects = rows.flatMap((row) => subjectsOf(row).map((subject) => ({ subject, seq: row.seq })));
    for (let at = 0; at < subjects.length; at += ROWS_AT_ONCE)
      await db
        .insertInto('change_subjects')
        .values(subjects.slice(at, at + ROWS_AT_ONCE))
        .execute();
    after = last.seq;
  }
}

function subjectsOf(row: EventRow): string[] {
  const subjects = new Set<string>(row.agent_id === null ? [] : [row.agent_id]);
  for (const [name, value] of Object.entries(JSON.parse(row.data ?? '{}') as Record<string, unknown>))
    if (typeof value === 'string' && /^(fromAgent|toAgent|(?!owner)[a-z]+Id)$/.test(name)) subjects.add(value);
  return [...subjects];
}

const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

async function addFirstVersions(db: Kysely<OldTables>): Promise<void> {
  const { seq, clock } = await db.selectFrom('head').select(['seq', 'clock']).executeTakeFirstOrThrow();
  const first = {
    seq,
    version: 1,
    timestamp: clock,
    type: null,
    actor: JSON.stringify({ kind: 'system', id: 'system' }),
  };
  for (let after = ''; ; ) {
    const rows = await db.selectFrom('agents').selectAll().where('id', '>', after).orderBy('id').limit(100).execute();
    const last = rows.at(-1);
    if (!last) break;
    const versions = rows.map((row) => ({
      ...first,
      subject: row.id,
      state: JSON.stringify({
        ownerId: row.owner_id,
        name: row.name,
        type: row.type,
        status: row.revoked_at === null ? 'active' : 'revoked',
        permissions: JSON.parse(row.permissions) as unknown,
        expiresAt: time(row.expires_at),
      }),
    }));
    await db.insertInto('versions').values(versions).execute();
    after = last.id;
  }
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('delegations')
      .selectAll()
      .where('id', '>', after)
      .orderBy('id')
      .limit(100)
      .execute();
    const last = rows.at(-1);
    if (!last) break;
    const versions = rows.map((row) => ({
      ...first,
      subject: row.id,
      state: JSON.stringify({
        fromAgent: row.from_agent,
        toAgent: row.to_agent,
        status: row.revoked_at === null ? 'active' : 'revoked',
        permissions: JSON.parse(row.permissions) as unknown,
        depth: row.depth,
        maxDepth: row.max_depth,
        expiresAt: time(row.expires_at),
        endsAt: time(row.ends_at),
      }),
    }));
    await db.insertInto('versions').values(versions).execute();
    after = last.id;
  }
}
