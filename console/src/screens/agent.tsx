import { useNavigate } from '@tanstack/react-router';
import type { Agent } from 'legate/client';
import { legate, rights } from '../api.ts';
import { DelegationTable } from '../parts/delegations.tsx';
import { Action } from '../parts/dialog.tsx';
import { EntryTable } from '../parts/entries.tsx';
import { NoDecisions } from '../parts/first-steps.tsx';
import { PersonLink, useAddress, useKept, useNames, useParam } from '../parts/hooks.tsx';
import { RevokeAgent } from '../parts/revoke.tsx';
import { Empty, NotFound, Result, Screen, Section, Tabs } from '../parts/screen.tsx';
import { EmptyPage, Pager } from '../parts/table.tsx';
import { Id, Status, Time } from '../parts/text.tsx';
import { Versions } from '../parts/versions.tsx';
import { t } from '../texts/index.ts';
import { EditAgent } from './agent-forms.tsx';
import { Keys } from './agent-keys.tsx';
import { Could } from './could.tsx';
import { PermissionEditor } from './permission-editor.tsx';
import { Workloads } from './workloads.tsx';

export function AgentScreen() {
  const id = useParam('id');
  const tab = useParam('tab') || 'permissions';
  const agent = useKept(['agents', 'one', id], () => legate.agents.get(id));
  if (!agent.data)
    return (
      <Screen title={t.agent}>
        <Result of={agent}>{() => null}</Result>
      </Screen>
    );
  const one = agent.data;
  const body = {
    permissions: Permissions,
    could: Could,
    delegations: Delegated,
    activity: Activity,
    workloads: Workloads,
    keys: Keys,
    history: Past,
  }[tab];
  if (!body) return <NotFound />;
  const Body = body;
  const tabs = [
    [`/agents/${id}`, t.permissions],
    [`/agents/${id}/could`, t.could],
    [`/agents/${id}/delegations`, t.nav.delegations],
    [`/agents/${id}/activity`, t.activity],
    [`/agents/${id}/workloads`, t.workloads],
    [`/agents/${id}/keys`, t.publicKeys],
    [`/agents/${id}/history`, t.history],
  ] as const;
  return (
    <Screen
      title={one.name}
      part={tabs.find(([to]) => to === `/agents/${id}/${tab}`)?.[1] ?? t.permissions}
      curl={`/agents/${id}`}
      actions={<AgentActions agent={one} />}
    >
      <AgentFacts agent={one} />
      <Tabs label={t.agent} tabs={tabs} />
      <Body agent={one} />
    </Screen>
  );
}

function AgentActions({ agent }: { agent: Agent }) {
  const navigate = useNavigate();
  return (
    <>
      {rights.write && agent.status !== 'revoked' && (
        <>
          <EditAgent agent={agent} />
          <Action
            label={t.rotateToken}
            question={t.rotateQuestion(agent.name)}
            text={t.rotateText}
            run={(reason) => legate.agents.rotate(agent.id, { reason })}
            secret={(answer: { token: string }) => answer.token}
            stale={['agents', 'changes']}
          />
          <RevokeAgent id={agent.id} name={agent.name} done={() => void navigate({ to: `/agents/${agent.id}` })} />
        </>
      )}
    </>
  );
}

function AgentFacts({ agent }: { agent: Agent }) {
  const nameOf = useNames([agent.ownerId, agent.createdBy]);
  return (
    <dl className="facts across">
      <dt>{t.state}</dt>
      <dd>
        <Status of={agent.status} />
      </dd>
      <dt>{t.id}</dt>
      <dd>
        <Id>{agent.id}</Id>
      </dd>
      <dt>{t.owner}</dt>
      <dd>
        <PersonLink id={agent.ownerId} name={nameOf(agent.ownerId)} />
      </dd>
      <dt>{t.type}</dt>
      <dd>{t.types[agent.type as 'service'] ?? agent.type}</dd>
      <dt>{t.created}</dt>
      <dd>
        <Time at={agent.createdAt} />
      </dd>
      <dt>{t.expires}</dt>
      <dd>{agent.expiresAt ? <Time at={agent.expiresAt} /> : t.never}</dd>
    </dl>
  );
}

function Permissions({ agent }: { agent: Agent }) {
  return <PermissionEditor key={agent.id} agent={agent} />;
}

function Delegated({ agent }: { agent: Agent }) {
  const graph = useKept(['delegations', 'of', agent.id], () => legate.delegations.graph({ agentId: agent.id }));
  return (
    <Result of={graph}>
      {(data) => (data.delegations.length === 0 ? <Empty>{t.noDelegations}</Empty> : <DelegationTable graph={data} />)}
    </Result>
  );
}

function Activity({ agent }: { agent: Agent }) {
  const [{ cursor }, setAddress] = useAddress();
  const entries = useKept(['audit', 'agent', agent.id, cursor], () =>
    legate.audit.list({ agentId: agent.id, order: 'desc', limit: 50 }).page(cursor),
  );
  return (
    <Result of={entries}>
      {({ items, next }) =>
        items.length === 0 ? (
          cursor ? (
            <EmptyPage cursor={cursor}>{t.nothingFits}</EmptyPage>
          ) : (
            <NoDecisions />
          )
        ) : (
          <>
            <EntryTable entries={items} withAgent={false} />
            <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
          </>
        )
      }
    </Result>
  );
}

function Past({ agent }: { agent: Agent }) {
  const [{ cursor }, setAddress] = useAddress();
  const versions = useKept(['agents', 'history', agent.id, cursor], () =>
    legate.agents.history(agent.id, { limit: 20 }).page(cursor),
  );
  return (
    <Section title={t.history}>
      <Result of={versions}>
        {({ items, next }) => (
          <>
            <Versions versions={items} />
            <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
          </>
        )}
      </Result>
    </Section>
  );
}
