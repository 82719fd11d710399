import type { RecordedChange } from 'legate/client';
import { legate } from '../api.ts';
import { FilterForm, keysText, UnknownWords } from '../parts/filter-form.tsx';
import { AgentLink, useAddress, useKept, useNames } from '../parts/hooks.tsx';
import { Result, Screen } from '../parts/screen.tsx';
import { EmptyPage, Pager } from '../parts/table.tsx';
import { Json, Time, Untrusted, visible } from '../parts/text.tsx';
import { ActorName, actorIds, Difference } from '../parts/versions.tsx';
import { t } from '../texts/index.ts';
import { parseWords, withFilter } from './audit-filter.ts';

/** The filters of `GET /changes`, which excludes nothing. */
const KEYS = { subject: 'subject', actor: 'actor', type: 'type', since: 'since', until: 'until' } as const;

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
  const [{ q = '', cursor }, setAddress] = useAddress();
  const { query, unknown } = parseWords(q, KEYS, false);
  const changes = useKept(['changes', q, cursor], () =>
    legate.changes.list({ ...query, limit: 30 } as never).page(cursor),
  );
  const nameOf = useNames((changes.data?.items ?? []).flatMap((c) => [...actorIds(c.actor), c.agentId, subjectOf(c)]));
  const apply = (next: string): void => setAddress({ q: next, cursor: undefined });
  const address = new URLSearchParams(
    Object.entries(query).flatMap(([name, values]) => values.map((value) => [name, value])),
  ).toString();
  return (
    <Screen title={t.nav.changes} curl={address === '' ? '/changes' : `/changes?${address}`}>
      <FilterForm q={q} apply={apply} hint={t.changesHint(keysText(Object.keys(KEYS)))} />
      <UnknownWords words={unknown} />
      <Result of={changes} lines={8}>
        {({ items, next }) =>
          items.length === 0 ? (
            <EmptyPage cursor={cursor}>{q === '' ? t.noChanges : t.nothingFits}</EmptyPage>
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
                        <Narrow change={c} nameOf={nameOf} add={(key, value) => apply(withFilter(q, key, value))} />
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

/** Buttons that narrow the list to the type, the actor or a subject of a change. */
function Narrow({
  change,
  nameOf,
  add,
}: {
  change: RecordedChange;
  nameOf: (id: string) => string | undefined;
  add: (key: keyof typeof KEYS, value: string) => void;
}) {
  const choices = [
    ['type', change.type],
    ['actor', change.actor?.id],
    ['subject', subjectOf(change)],
    ['subject', change.agentId],
  ] as const;
  return (
    <p className="actions">
      {choices.map(
        ([key, value], i) =>
          value && (
            <button key={i} type="button" className="button plain" onClick={() => add(key, value)}>
              {t.onlyThis(visible(nameOf(value) ?? value))}
            </button>
          ),
      )}
    </p>
  );
}
