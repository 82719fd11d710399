import type { Actor, PolicyVersion } from 'legate/client';
import { t } from '../texts/index.ts';
import { useNames } from './hooks.tsx';
import { Json, Time, Untrusted } from './text.tsx';

export const actorIds = (actor: Actor | undefined): (string | null | undefined)[] => [actor?.id, actor?.userId];

/** The actor of a change, by name if it has one. */
export function ActorName({ actor, nameOf }: { actor: Actor | undefined; nameOf: (id: string) => string | undefined }) {
  if (!actor) return null;
  // The service and the application have no id other than their kind.
  const id = [actor.id, actor.userId].find((one) => one && one !== actor.kind);
  return (
    <>
      {t.actors[actor.kind as 'user'] ?? actor.kind}
      {id && (
        <>
          {' '}
          <Untrusted>{nameOf(id) ?? id}</Untrusted>
        </>
      )}
    </>
  );
}

/** The fields that a change affected, before and after it. */
export function Difference({
  before = {},
  after = {},
}: {
  before?: Record<string, unknown> | undefined;
  after?: Record<string, unknown> | undefined;
}) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  if (names.length === 0) return null;
  return (
    <div className="form">
      {names.map((name) => (
        <div key={name} className="section">
          <h3>
            <Untrusted mono>{name}</Untrusted>
          </h3>
          <div className="grid2">
            {name in before && (
              <div>
                <p className="hint">{t.before}</p>
                <Json value={before[name]} />
              </div>
            )}
            {name in after && (
              <div>
                <p className="hint">{t.after}</p>
                <Json value={after[name]} />
              </div>
            )}
          </div>
        </div>
      ))}
    </div>
  );
}

/** The versions of a policy, each with its author. */
export function Versions({ versions }: { versions: readonly PolicyVersion[] }) {
  const nameOf = useNames(versions.flatMap((v) => actorIds(v.actor)));
  return (
    <ul className="path">
      {versions.map((v) => (
        <li key={v.version}>
          <p>
            <strong>{t.version(v.version)}</strong> {v.type && <code>{v.type}</code>} <Time at={v.at} />{' '}
            <ActorName actor={v.actor} nameOf={nameOf} />
          </p>
          {v.reason && (
            <p className="quiet">
              <Untrusted>{`“${v.reason}”`}</Untrusted>
            </p>
          )}
          <details>
            <summary>{t.whatChanged}</summary>
            <Difference before={v.before} after={v.after} />
          </details>
        </li>
      ))}
    </ul>
  );
}
