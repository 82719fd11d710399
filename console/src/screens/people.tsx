import type { User } from 'legate/client';
import { legate, rights } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { FormButton } from '../parts/form.tsx';
import { Go } from '../parts/go.tsx';
import { SearchField, useAddress, useKept, useParam } from '../parts/hooks.tsx';
import { NotFound, Result, Screen, Tabs } from '../parts/screen.tsx';
import { EmptyPage, Pager, Table } from '../parts/table.tsx';
import { Status, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { Issuers } from './issuers.tsx';
import { TenantForm, Tenants } from './tenants.tsx';

export const ROLES = ['user', 'auditor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export function People() {
  const tab = useParam('tab');
  const Body = { users: Users, invitations: Invitations, tenants: Tenants, issuers: Issuers }[tab];
  if (!Body) return <NotFound />;
  return (
    <Screen
      title={t.nav.people}
      part={t[tab as 'users' | 'invitations' | 'tenants' | 'issuers']}
      curl={{ users: '/users', invitations: '/invites', tenants: '/tenants', issuers: '/issuers' }[tab as 'users']}
      actions={rights.admin && (tab === 'tenants' ? <TenantForm /> : <Invite />)}
    >
      <Tabs
        label={t.nav.people}
        tabs={[
          ['/people/users', t.users],
          ['/people/invitations', t.invitations],
          ['/people/tenants', t.tenants],
          ['/people/issuers', t.issuers],
        ]}
      />
      <Body />
    </Screen>
  );
}

export const nameOf = (u: User): string => u.name ?? u.email ?? u.id;

function Users() {
  const [{ q = '', cursor }, setAddress] = useAddress();
  const users = useKept(['people', 'users', q, cursor], () =>
    legate.users.list({ limit: 50, ...(q && { q }) }).page(cursor),
  );
  return (
    <>
      <div className="filters">
        <SearchField label={t.searchPeople} value={q} onChange={(text) => setAddress({ q: text, cursor: undefined })} />
      </div>
      <Result of={users} lines={6}>
        {({ items, next }) =>
          items.length === 0 ? (
            <EmptyPage cursor={cursor}>{t.nothingFits}</EmptyPage>
          ) : (
            <>
              <Table
                caption={t.users}
                rows={items}
                rowKey={(u) => u.id}
                columns={[
                  {
                    label: t.name,
                    cell: (u) => (
                      <Go to={`/people/users/${u.id}`}>
                        <Untrusted>{nameOf(u)}</Untrusted>
                      </Go>
                    ),
                  },
                  { label: t.state, cell: (u) => <Status of={u.status} /> },
                  { label: t.email, cell: (u) => <Untrusted>{u.email ?? '–'}</Untrusted> },
                  { label: t.role, cell: (u) => t.roles[u.role as Role] ?? u.role },
                  { label: t.secondFactor, cell: (u) => (u.twoFactorEnabled ? t.on : t.off) },
                  { label: t.created, cell: (u) => <Time at={u.createdAt} /> },
                  ...(rights.admin ? [{ label: t.change, cell: (u: User) => <UserActions user={u} /> }] : []),
                ]}
              />
              <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
            </>
          )
        }
      </Result>
    </>
  );
}

export function UserActions({ user }: { user: User }) {
  return (
    <div className="actions">
      {user.id !== rights.me.id &&
        (user.status === 'suspended' ? (
          <Action
            label={t.restore}
            question={t.restoreQuestion(nameOf(user))}
            run={(reason) => legate.users.update(user.id, { status: 'active', reason })}
            stale={['people', 'agents', 'changes']}
          />
        ) : (
          <Action
            danger
            label={t.suspend}
            question={t.suspendQuestion(nameOf(user))}
            text={t.suspendText}
            preview={() => legate.users.update(user.id, { status: 'suspended' }, { preview: true })}
            run={(reason) => legate.users.update(user.id, { status: 'suspended', reason })}
            stale={['people', 'agents', 'changes']}
          />
        ))}
      <Action
        danger
        label={t.endSessions}
        question={t.endSessionsQuestion(nameOf(user))}
        run={(reason) => legate.users.sessions.revokeAll(user.id, { reason })}
        stale={['people']}
      />
    </div>
  );
}

function Invitations() {
  const [{ cursor }, setAddress] = useAddress();
  const invites = useKept(['people', 'invites', cursor], () => legate.invites.list({ limit: 50 }).page(cursor));
  return (
    <Result of={invites}>
      {({ items, next }) =>
        items.length === 0 ? (
          <EmptyPage cursor={cursor}>{t.noInvitations}</EmptyPage>
        ) : (
          <>
            <Table
              caption={t.invitations}
              rows={items}
              rowKey={(i) => i.id}
              columns={[
                { label: t.email, cell: (i) => <Untrusted>{i.email}</Untrusted> },
                { label: t.role, cell: (i) => t.roles[i.role as Role] ?? i.role },
                { label: t.expires, cell: (i) => <Time at={i.expiresAt} /> },
                ...(rights.admin
                  ? [
                      {
                        label: t.change,
                        cell: (i: (typeof items)[number]) => (
                          <Action
                            danger
                            label={t.withdraw}
                            question={t.withdrawQuestion(i.email)}
                            run={(reason) => legate.invites.revoke(i.id, { reason })}
                            stale={['people', 'changes']}
                          />
                        ),
                      },
                    ]
                  : []),
              ]}
            />
            <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
          </>
        )
      }
    </Result>
  );
}

const Invite = () => (
  <FormButton
    primary
    label={t.invite}
    stale={['people', 'changes']}
    inputs={[
      { name: 'email', label: t.email, type: 'email' },
      { name: 'role', label: t.role, options: ROLES.map((r) => [r, t.roles[r]] as const) },
    ]}
    run={({ email, role }) => legate.invites.create({ email, role: role as Role })}
    secret={(answer: { url: string }) => answer.url}
  />
);
