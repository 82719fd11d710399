import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { legate, queries, rights, serverNow } from '../api.ts';
import { Dialog, Secret } from '../parts/dialog.tsx';
import { AgentLink, Field, Select, useAddress, useKept, useNames } from '../parts/hooks.tsx';
import { Empty, ErrorNotice, Result, Screen } from '../parts/screen.tsx';
import { Pager, Table } from '../parts/table.tsx';
import { formatNumber, Status, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

type Sort = '-calls' | '-refused' | 'name' | '-createdAt' | '-lastDecisionAt';
type State = 'active' | 'revoked' | 'expired';
const SORTS: readonly Sort[] = ['-createdAt', 'name', '-calls', '-refused', '-lastDecisionAt'];

const WEEK_MS = 7 * 86_400_000;

export function Agents() {
  const [{ q = '', status = '', sort, cursor, expires }, setAddress] = useAddress();
  const soon = expires === 'soon';
  const order = SORTS.find((s) => s === sort) ?? '-createdAt';
  const agents = useKept(['agents', 'list', q, status, order, cursor, soon], () =>
    legate.agents
      .list({
        view: 'summary',
        sort: order,
        limit: 50,
        ...(q && { q }),
        ...(status && { status: status as State }),
        ...(soon && { status: 'active', expiresBefore: new Date(serverNow() + WEEK_MS) }),
      })
      .page(cursor),
  );
  const nameOf = useNames((agents.data?.items ?? []).map((a) => a.ownerId));
  const [registering, setRegistering] = useState(false);
  return (
    <Screen
      title={t.nav.agents}
      curl={`/agents?${new URLSearchParams({ view: 'summary', sort: order, ...(q && { q }), ...(status && { status }) })}`}
      actions={
        rights.write && (
          <button type="button" className="button primary" onClick={() => setRegistering(true)}>
            {t.registerAgent}
          </button>
        )
      }
    >
      <div className="filters">
        <Field label={t.searchName} wide>
          {(id) => (
            <input
              id={id}
              type="search"
              value={q}
              onChange={(e) => setAddress({ q: e.target.value, cursor: undefined })}
            />
          )}
        </Field>
        <Select
          label={t.state}
          value={status as State | ''}
          options={[
            ['', t.any],
            ['active', t.status.active],
            ['revoked', t.status.revoked],
            ['expired', t.status.expired],
          ]}
          onChange={(value) => setAddress({ status: value, cursor: undefined })}
        />
        <Select
          label={t.sort}
          value={order}
          options={SORTS.map((s) => [s, t.sorts[s]] as const)}
          onChange={(value) => setAddress({ sort: value, cursor: undefined })}
        />
        <label className="check">
          <input
            type="checkbox"
            checked={soon}
            onChange={(e) => setAddress({ expires: e.target.checked ? 'soon' : undefined, cursor: undefined })}
          />
          {t.expiresSoon}
        </label>
      </div>
      <Result of={agents} lines={8}>
        {({ items, next, total }) =>
          items.length === 0 ? (
            <Empty>{q || status || soon ? t.nothingFits : t.noAgents}</Empty>
          ) : (
            <>
              <Table
                caption={t.nav.agents}
                rows={items}
                rowKey={(a) => a.id}
                columns={[
                  { label: t.name, cell: (a) => <AgentLink id={a.id} name={a.name} /> },
                  { label: t.owner, cell: (a) => <Untrusted>{nameOf(a.ownerId) ?? a.ownerId}</Untrusted> },
                  { label: t.state, cell: (a) => <Status of={a.status} /> },
                  {
                    label: t.permissions,
                    cell: (a) => (
                      <>
                        {formatNumber(a.permissionCount)}{' '}
                        {a.unbounded && <span className="status limited">{t.unbounded}</span>}
                      </>
                    ),
                  },
                  { label: t.calls24, num: true, cell: (a) => formatNumber(a.calls) },
                  { label: t.refused, num: true, cell: (a) => formatNumber(a.refused) },
                  { label: t.lastDecision, cell: (a) => <Time at={a.lastDecisionAt} /> },
                  { label: t.expires, cell: (a) => <Time at={a.expiresAt} /> },
                ]}
              />
              <Pager next={next} cursor={cursor} total={total} go={(c) => setAddress({ cursor: c })} />
            </>
          )
        }
      </Result>
      {registering && <Register close={() => setRegistering(false)} />}
    </Screen>
  );
}

function Register({ close }: { close: () => void }) {
  const [name, setName] = useState('');
  const [type, setType] = useState<'autonomous' | 'delegated' | 'service'>('autonomous');
  const register = useMutation({
    mutationFn: () => legate.agents.create({ ownerId: rights.me.id, name, type }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['agents'] }),
  });
  if (register.data) return <Secret value={register.data.token} close={close} />;
  return (
    <Dialog title={t.registerAgent} close={close}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault();
          register.mutate();
        }}
      >
        <Field label={t.name}>
          {(id) => <input id={id} required maxLength={200} value={name} onChange={(e) => setName(e.target.value)} />}
        </Field>
        <Select
          label={t.type}
          value={type}
          options={[
            ['autonomous', t.types.autonomous],
            ['delegated', t.types.delegated],
            ['service', t.types.service],
          ]}
          onChange={(value) => setType(value || 'autonomous')}
        />
        <p className="hint">{t.registerHint}</p>
        {register.error && <ErrorNotice error={register.error} />}
        <div className="actions">
          <button type="button" className="button" onClick={close}>
            {t.cancel}
          </button>
          <button type="submit" className="button primary" disabled={register.isPending}>
            {t.register}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
