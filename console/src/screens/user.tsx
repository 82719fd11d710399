import { useNavigate } from '@tanstack/react-router';
import type { Session, User } from 'legate/client';
import { legate, rights } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { FormButton } from '../parts/form.tsx';
import { AgentLink, useAddress, useKept, useNames, useParam } from '../parts/hooks.tsx';
import type { Values } from '../parts/input.tsx';
import { Empty, Result, Screen, Section } from '../parts/screen.tsx';
import { EmptyPage, Pager, Table } from '../parts/table.tsx';
import { formatNumber, formatTime, Id, Status, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { nameOf, ROLES, type Role, UserActions } from './people.tsx';

/** One person: the account, the agents and, for administrators, the sessions. */
export function UserScreen() {
  const id = useParam('id');
  const [{ cursor }, setAddress] = useAddress();
  const user = useKept(['people', 'user', id], () => legate.users.get(id));
  const agents = useKept(['agents', 'of', id, cursor], () =>
    legate.agents.list({ view: 'summary', ownerId: id, sort: 'name', limit: 100 }).page(cursor),
  );
  const sessions = useKept(
    ['people', 'sessions', id],
    async () => (await legate.users.sessions.list(id)).sessions,
    rights.admin,
  );
  const one = user.data;
  const tenantName = useNames([one?.tenantId]);
  return (
    <Screen
      title={one ? nameOf(one) : t.user}
      curl={`/users/${id}`}
      actions={
        one &&
        rights.admin && (
          <>
            <UserForm user={one} />
            <UserActions user={one} />
            {one.id !== rights.me.id && <ResetSecondFactor user={one} />}
            {one.id !== rights.me.id && <ErasePerson user={one} />}
          </>
        )
      }
    >
      <Result of={user}>
        {(u) => (
          <dl className="facts across">
            <dt>{t.email}</dt>
            <dd>
              <Untrusted>{u.email ?? '–'}</Untrusted>
            </dd>
            <dt>{t.role}</dt>
            <dd>{t.roles[u.role as 'user'] ?? u.role}</dd>
            <dt>{t.state}</dt>
            <dd>
              <Status of={u.status} />
            </dd>
            <dt>{t.tenant}</dt>
            <dd>{u.tenantId ? <Untrusted>{tenantName(u.tenantId) ?? u.tenantId}</Untrusted> : '–'}</dd>
            <dt>{t.secondFactor}</dt>
            <dd>{u.twoFactorEnabled ? t.on : t.off}</dd>
            <dt>{t.created}</dt>
            <dd>
              <Time at={u.createdAt} />
            </dd>
            <dt>{t.id}</dt>
            <dd>
              <Id>{u.id}</Id>
            </dd>
          </dl>
        )}
      </Result>
      <Section title={t.userAgents}>
        <Result of={agents}>
          {({ items, next }) =>
            items.length === 0 ? (
              <EmptyPage cursor={cursor}>{t.noAgents}</EmptyPage>
            ) : (
              <>
                <Table
                  caption={t.userAgents}
                  rows={items}
                  rowKey={(a) => a.id}
                  columns={[
                    { label: t.name, cell: (a) => <AgentLink id={a.id} name={a.name} /> },
                    { label: t.state, cell: (a) => <Status of={a.status} /> },
                    { label: t.calls24, num: true, cell: (a) => formatNumber(a.calls) },
                    { label: t.refused, num: true, cell: (a) => formatNumber(a.refused) },
                    { label: t.lastDecision, cell: (a) => <Time at={a.lastDecisionAt} /> },
                  ]}
                />
                <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
              </>
            )
          }
        </Result>
      </Section>
      {rights.admin && (
        <Section title={t.sessions}>
          <Result of={sessions}>
            {(rows) =>
              rows.length === 0 ? (
                <Empty>{t.noSessions}</Empty>
              ) : (
                <Table
                  caption={t.sessions}
                  rows={rows}
                  rowKey={(s) => s.id}
                  columns={[
                    { label: t.created, cell: (s) => <Time at={s.createdAt} /> },
                    { label: t.expires, cell: (s) => <Time at={s.expiresAt} /> },
                    { label: t.address, cell: (s) => s.ipAddress ?? '–' },
                    {
                      label: t.browser,
                      cell: (s) => (
                        <>
                          <Untrusted>{deviceOf(s) || '–'}</Untrusted>{' '}
                          {s.current && <span className="tag">{t.thisSession}</span>}
                        </>
                      ),
                    },
                    {
                      label: t.change,
                      cell: (s) =>
                        // The current session is ended on the account page, by signing out.
                        !s.current && (
                          <Action
                            danger
                            label={t.endSession}
                            question={t.endSessionQuestion(
                              [deviceOf(s), s.ipAddress, formatTime(s.createdAt)].filter(Boolean).join(', '),
                            )}
                            text={t.endSessionText}
                            run={(reason) => legate.users.sessions.revoke(id, s.id, { reason })}
                            stale={['people']}
                          />
                        ),
                    },
                  ]}
                />
              )
            }
          </Result>
        </Section>
      )}
    </Screen>
  );
}

const deviceOf = ({ device }: Session): string => [device?.browser, device?.os].filter(Boolean).join(', ');

const ResetSecondFactor = ({ user }: { user: User }) => (
  <Action
    danger
    label={t.resetSecondFactor}
    question={t.resetSecondFactorQuestion(nameOf(user))}
    text={t.resetSecondFactorText}
    run={(reason) => legate.users.secondFactor.delete(user.id, { reason }, { ifMatch: user })}
    stale={['people', 'changes']}
  />
);

type Field = 'name' | 'role' | 'tenantId';

/** If there is more than one page of tenants, they are chosen by id. */
function UserForm({ user }: { user: User }) {
  const tenants = useKept(
    ['people', 'tenants', 'choices'],
    async () => (await legate.tenants.list({ limit: 200 }).page()).items,
  );
  const fieldsOf = ({ name, role, tenantId }: Values<Field>, of: User) => ({
    ...(name !== (of.name ?? '') && { name }),
    ...(role !== of.role && { role: role as Role }),
    ...(tenantId !== (of.tenantId ?? '') && { tenantId: tenantId || null }),
  });
  return (
    <FormButton<Field, User>
      label={t.edit}
      title={t.editOf(nameOf(user))}
      stale={['people', 'agents', 'delegations', 'names', 'changes']}
      inputs={[
        { name: 'name', label: t.name, optional: user.name === null, maxLength: 200 },
        // Nobody changes their own role.
        ...(user.id === rights.me.id
          ? []
          : [{ name: 'role' as const, label: t.role, options: ROLES.map((role) => [role, t.roles[role]] as const) }]),
        {
          name: 'tenantId',
          label: t.tenant,
          hint: t.userTenantHint,
          optional: true,
          known: (tenants.data ?? []).map(({ id, name }) => [id, name] as const),
        },
      ]}
      edited={{
        id: user.id,
        type: 'user.updated',
        load: () => legate.users.get(user.id),
        values: (u) => ({ name: u.name ?? '', role: u.role, tenantId: u.tenantId ?? '' }),
      }}
      preview={(values, of) => legate.users.update(of.id, fieldsOf(values, of), { preview: true })}
      run={(values, of, reason) => legate.users.update(of.id, { ...fieldsOf(values, of), reason }, { ifMatch: of })}
    />
  );
}

function ErasePerson({ user }: { user: User }) {
  const navigate = useNavigate();
  // The preview of a deletion does not include the erasure, which has a separate preview.
  const preview = async () => {
    const [account, erasure] = await Promise.all([
      legate.users.delete(user.id, { erase: true, preview: true }),
      legate.audit.erasures({ userId: user.id }, { preview: true }),
    ]);
    return { ...account, events: [...account.events, ...erasure.events] };
  };
  return (
    <Action
      danger
      label={t.erasePerson}
      question={t.erasePersonQuestion(nameOf(user))}
      text={t.erasePersonText}
      preview={preview}
      run={(reason) => legate.users.delete(user.id, { erase: true, reason })}
      done={() => void navigate({ to: '/people/users' as never })}
      stale={['people', 'agents', 'audit', 'facets', 'changes']}
    />
  );
}
