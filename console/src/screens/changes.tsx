import { legate } from '../api.ts';
import { AgentLink, useAddress, useKept, useNames } from '../parts/hooks.tsx';
import { Empty, Result, Screen } from '../parts/screen.tsx';
import { Pager } from '../parts/table.tsx';
import { Json, Time } from '../parts/text.tsx';
import { ActorName, actorIds, Difference } from '../parts/versions.tsx';
import { t } from '../texts/index.ts';

/** All changes, with their authors and the fields before and after. */
export function Changes() {
  const [{ cursor }, setAddress] = useAddress();
  const changes = useKept(['changes', cursor], () => legate.changes.list({ limit: 30 }).page(cursor));
  const nameOf = useNames((changes.data?.items ?? []).flatMap((c) => [...actorIds(c.actor), c.agentId]));
  return (
    <Screen title={t.nav.changes} curl="/changes">
      <Result of={changes} lines={8}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty>{t.noChanges}</Empty>
          ) : (
            <>
              <ul className="path">
                {items.map((c) => (
                  <li key={c.id}>
                    <p className="actions">
                      <code>{c.type}</code>
                      <Time at={c.timestamp} />
                      <span>
                        <ActorName actor={c.actor} nameOf={nameOf} />
                      </span>
                      {c.agentId && <AgentLink id={c.agentId} name={nameOf(c.agentId)} />}
                    </p>
                    <details>
                      <summary>{t.whatChanged}</summary>
                      <Difference before={c.before} after={c.after} />
                      <Json value={c.data} />
                    </details>
                  </li>
                ))}
              </ul>
              <Pager next={next} cursor={cursor} go={(next) => setAddress({ cursor: next })} />
            </>
          )
        }
      </Result>
    </Screen>
  );
}
