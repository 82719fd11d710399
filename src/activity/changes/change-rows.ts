import type { Actor } from '../../access/actor.ts';
import { type Commit, type EVENT_COLUMNS, type EventType, eventColumns, storedObject } from '../../ledger/index.ts';
import type { ChangeRow, ChangeSubjectRow, StreamEventRow } from '../../storage/index.ts';

/** Events that report an occurrence without a change. Every other type except `audit` is a change. */
const OCCURRENCES: ReadonlySet<EventType> = new Set<EventType>([
  'anomaly.detected',
  'auth.signin',
  'auth.signout',
  'auth.failed',
  'auth.denied',
  'auth.limited',
  'budget.exceeded',
  'cost.recorded',
  'gateway.call',
]);

/** Types of rows of the ledger that GET /changes does not list (contract 17.2). */
export const NO_CHANGES: readonly EventType[] = ['audit', ...OCCURRENCES];

/** Fields of `data` that contain the id of a subject. The owner of an agent is not a subject of the change. */
const SUBJECT_FIELD = /^(fromAgent|toAgent|(?!owner)[a-z]+Id)$/;

/** A change, and its subjects: an agent, a delegation with both its agents, a user and so on. */
export interface StoredChange {
  readonly change: ChangeRow;
  readonly subjects: readonly ChangeSubjectRow[];
}

function subjectsOf(seq: number, agentId: string | null, data: Record<string, unknown>): ChangeSubjectRow[] {
  const subjects = new Set<string>(agentId === null ? [] : [agentId]);
  for (const [name, value] of Object.entries(data))
    if (typeof value === 'string' && SUBJECT_FIELD.test(name)) subjects.add(value);
  return [...subjects].map((subject) => ({ subject, seq }));
}

/** Returns the changes among the events of a commit. */
export function changesOf({ firstSeq, records, events, timestamp }: Commit): StoredChange[] {
  const changes: StoredChange[] = [];
  for (const [i, event] of events.entries()) {
    if (OCCURRENCES.has(event.type)) continue;
    const columns = eventColumns(event, firstSeq + records.length + i, timestamp);
    changes.push({
      change: { ...columns, actor_id: event.actor.id },
      subjects: subjectsOf(columns.seq, columns.agent_id, event.data),
    });
  }
  return changes;
}

/** Returns the change that an event in the ledger is. */
export function changeOfRow(row: Pick<StreamEventRow, keyof typeof EVENT_COLUMNS>): StoredChange {
  const data = row.data ?? '{}';
  const { actor } = storedObject(row.change) as { actor?: Actor };
  return {
    change: { ...row, data, actor_id: actor?.id ?? null },
    subjects: subjectsOf(row.seq, row.agent_id, storedObject(data)),
  };
}
