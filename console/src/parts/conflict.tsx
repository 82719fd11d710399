import { useQuery } from '@tanstack/react-query';
import { LegateError } from 'legate/client';
import { legate } from '../api.ts';
import { t } from '../texts/index.ts';
import { useNames } from './hooks.tsx';
import { Time } from './text.tsx';
import { ActorName, actorIds, Difference } from './versions.tsx';

/** Whether a change was refused because its object has changed in the meantime. */
export const isConflict = (error: Error | null): boolean => error instanceof LegateError && error.status === 412;

/** Shows who has changed an object in the meantime, and how, and loads it again. */
export function Conflict({
  id,
  type,
  text,
  again,
}: {
  readonly id: string;
  /** The type of the event of such a change. */
  readonly type: string;
  readonly text: string;
  readonly again: () => void;
}) {
  const changes = useQuery({
    queryKey: ['changes', 'of', id, type],
    queryFn: async () => (await legate.changes.list({ subject: id, type, limit: 1 }).page()).items[0] ?? null,
    staleTime: 0,
    gcTime: 0,
  });
  const change = changes.data;
  const nameOf = useNames(actorIds(change?.actor));
  return (
    <div className="notice error" role="alert">
      <p>{text}</p>
      {change && (
        <>
          <p>
            <ActorName actor={change.actor} nameOf={nameOf} />, <Time at={change.timestamp} />
          </p>
          <Difference before={change.before} after={change.after} />
        </>
      )}
      <div className="actions">
        <button type="button" className="button" onClick={again}>
          {t.loadAgain}
        </button>
      </div>
    </div>
  );
}
