import type { ChangeRow } from '../storage/index.ts';
import type { CommittedEvent, NewEvent } from './entry.ts';
import type { EventType } from './event-types.ts';

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

/** Returns whether GET /changes lists events of this type (contract 17.2). */
export const isChange = (type: EventType): boolean => type !== 'audit' && !OCCURRENCES.has(type);

/** Fields of `data` that contain the id of a subject. The owner of an agent is not a subject of the change. */
const SUBJECT_FIELD = /^(fromAgent|toAgent|(?!owner)[a-z]+Id)$/;

/** Returns the ids of the subjects of a change: an agent, a delegation with both its agents, a user and so on. */
export function subjectsOf({ agentId, data }: Pick<NewEvent, 'agentId' | 'data'>): string[] {
  const subjects = new Set<string>(agentId === undefined ? [] : [agentId]);
  for (const [name, value] of Object.entries(data))
    if (typeof value === 'string' && SUBJECT_FIELD.test(name)) subjects.add(value);
  return [...subjects];
}

export const changeRow = (
  { actor, ...event }: CommittedEvent,
  columns: Pick<ChangeRow, 'data' | 'change'>,
  seq: number,
  timestamp: number,
): ChangeRow => ({
  seq,
  id: event.id,
  type: event.type,
  timestamp,
  agent_id: event.agentId ?? null,
  user_id: event.userId ?? null,
  actor_id: actor.id,
  data: columns.data,
  change: columns.change,
});
