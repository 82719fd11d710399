import { useState } from 'react';
import { legate, rights } from '../api.ts';
import { useKept } from '../parts/hooks.tsx';
import { Result, Screen, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { formatNumber, Status, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

export function System() {
  const [all, setAll] = useState(false);
  const system = useKept(['system'], () => legate.system());
  return (
    <Screen title={t.nav.system} curl="/system">
      <Result of={system} lines={8}>
        {(s) => (
          <div className="screen">
            <dl className="facts">
              <dt>{t.versionOf}</dt>
              <dd>{s.version}</dd>
              <dt>Node.js</dt>
              <dd>{s.node}</dd>
              <dt>{t.address}</dt>
              <dd>{s.baseUrl}</dd>
              <dt>{t.database}</dt>
              <dd>
                {s.database.dialect},{' '}
                {t.migrations(s.database.migrations.applied, s.database.migrations.pending.length)}
              </dd>
            </dl>
            <Section title={t.instances}>
              <Table
                caption={t.instances}
                rows={s.instances}
                rowKey={(i) => i.id}
                columns={[
                  { label: t.id, cell: (i) => <code>{i.id}</code> },
                  { label: t.versionOf, cell: (i) => i.version },
                  { label: t.started, cell: (i) => <Time at={i.startedAt} /> },
                ]}
              />
            </Section>
            {rights.all && <SealedLedger />}
            <Section title={t.keys}>
              <Table
                caption={t.keys}
                rows={s.keys}
                rowKey={(k) => `${k.kind} ${k.id}`}
                columns={[
                  { label: t.kind, cell: (k) => k.kind },
                  { label: t.id, cell: (k) => <code>{k.id}</code> },
                  { label: t.created, cell: (k) => <Time at={k.createdAt} /> },
                  { label: t.age, cell: (k) => t.days(Math.floor(k.ageSeconds / 86_400)) },
                  { label: t.state, cell: (k) => <Status of={k.current ? 'active' : 'expired'} /> },
                ]}
              />
            </Section>
            <Section
              title={t.settings}
              aside={
                <label className="check">
                  <input type="checkbox" checked={all} onChange={(e) => setAll(e.target.checked)} />
                  {t.withDefaults(s.settings.length)}
                </label>
              }
            >
              <Table
                caption={t.settings}
                rows={s.settings.filter(({ source }) => all || source !== 'default')}
                rowKey={(o) => o.option}
                columns={[
                  { label: t.option, cell: (o) => <code>{o.option}</code> },
                  {
                    label: t.value,
                    cell: (o) =>
                      o.secret ? (
                        o.set ? (
                          t.secretSet
                        ) : (
                          '–'
                        )
                      ) : (
                        <Untrusted mono>{JSON.stringify(o.value) ?? '–'}</Untrusted>
                      ),
                  },
                  { label: t.source, cell: (o) => o.source },
                ]}
              />
            </Section>
          </div>
        )}
      </Result>
    </Screen>
  );
}

/** The state of the seal of the ledger and of its witnesses. */
function SealedLedger() {
  const status = useKept(['ledger', 'status'], () => legate.ledger.status());
  return (
    <Section title={t.sealedLog}>
      <Result of={status}>
        {(s) => (
          <>
            {s.halted !== null && (
              <p className="notice warning" role="alert">
                {t.sealHalted}: <Untrusted>{s.halted}</Untrusted>
              </p>
            )}
            <dl className="facts">
              <dt>{t.sealing}</dt>
              <dd>{s.sealing ? t.sealStates.on : t.sealStates.off}</dd>
              <dt>{t.name}</dt>
              <dd>{s.origin ? <Untrusted mono>{s.origin}</Untrusted> : '–'}</dd>
              <dt>{t.sealedRows}</dt>
              <dd>{t.sealedUpTo(formatNumber(s.signedSize), formatNumber(s.head))}</dd>
              {s.cosignedSize !== null && (
                <>
                  <dt>{t.cosignedRows}</dt>
                  <dd>{formatNumber(s.cosignedSize)}</dd>
                </>
              )}
              {s.publishedSize !== null && (
                <>
                  <dt>{t.publishedRows}</dt>
                  <dd>{formatNumber(s.publishedSize)}</dd>
                </>
              )}
            </dl>
            {s.witnesses.length > 0 && (
              <Table
                caption={t.witnesses}
                rows={s.witnesses}
                rowKey={(w) => w.key}
                columns={[
                  { label: t.name, cell: (w) => <Untrusted>{w.name}</Untrusted> },
                  { label: t.cosignedRows, cell: (w) => formatNumber(w.size) },
                  { label: t.lastCosigned, cell: (w) => <Time at={w.cosignedAt} /> },
                  { label: t.failure, cell: (w) => (w.failure ? <Untrusted>{w.failure}</Untrusted> : '–') },
                ]}
              />
            )}
          </>
        )}
      </Result>
    </Section>
  );
}
