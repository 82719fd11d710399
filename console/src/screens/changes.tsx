import type { RecordedChange } from 'legate/client';
import { legate } from '../api.ts';
import { AgentLink, useAddress, useKept, useNames } from '../parts/hooks.tsx';
import { Empty, Result, Screen } from '../parts/screen.tsx';
import { Pager } from '../parts/table.tsx';
import { Json, Time, Untrusted } from '../parts/text.tsx';
import { ActorName, actorIds, Difference } from '../parts/versions.tsx';
import { t } from '../texts/index.ts';

/** Fields of the data of a change that refer to something else than the object that changed. */
const OTHER_IDS = new Set(['agentId', 'ownerId', 'auditId']);

/** The id of what changed, if it is not an agent, which has a link. */
function subjectOf({ type, data }: RecordedChange): string | undefined {
  const ids = Object.entries(data).filter(
    (field): field is [string, string] =>
      /^[a-z]+Id$/.test(field[0]) && !OTHER_IDS.has(field[0]) && typeof field[1] === 'string',
  );
  return (ids.find(([name]) => type.startsWith(name.slice(0, -2))) ?? ids[0])?.[1];
}

/** All changes, with their authors and the fields before and after. */
export function Changes() {
  const [{ cursor }, setAddress] = useAddress();
  const changes = useKept(['changes', cursor], () => legate.changes.list({ limit: 30 }).page(cursor));
  const nameOf = useNames((changes.data?.items ?? []).flatMap((c) => [...actorIds(c.actor), c.agentId, subjectOf(c)]));
  return (
    <Screen title={t.nav.changes} curl="/changes">
      <Result of={changes} lines={8}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty>{t.noChanges}</Empty>
          ) : (
            <>
              <ul className="path">
                {items.map((c) => {
                  const subject = subjectOf(c);
                  return (
                    <li key={c.id}>
                      <p className="actions">
                        <code>{c.type}</code>
                        <Time at={c.timestamp} />
                        <span>
                          <ActorName actor={c.actor} nameOf={nameOf} />
                        </span>
                        {subject && <Untrusted mono={!nameOf(subject)}>{nameOf(subject) ?? subject}</Untrusted>}
                        {c.agentId && <AgentLink id={c.agentId} name={nameOf(c.agentId)} />}
                      </p>
                      <details>
                        <summary>{t.whatChanged}</summary>
                        <Difference before={c.before} after={c.after} />
                        <Json value={c.data} />
                      </details>
                    </li>
                  );
                })}
              </ul>
              <Pager next={next} cursor={cursor} go={(next) => setAddress({ cursor: next })} />
            </>
          )
        }
      </Result>
    </Screen>
  );
}
