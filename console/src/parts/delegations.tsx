import type { DelegationGraph } from 'legate/client';
import { legate, rights } from '../api.ts';
import { t } from '../texts/index.ts';
import { Action } from './dialog.tsx';
import { AgentLink } from './hooks.tsx';
import { LongTable } from './table.tsx';
import { Status, Time, visible } from './text.tsx';

/** Delegations as rows, with a button that revokes one and all that descend from it. */
export function DelegationTable({ graph, look }: { graph: DelegationGraph; look?: (id: string) => void }) {
  const agents = new Map(graph.agents.map((a) => [a.id, a]));
  const nameOf = (id: string): string => agents.get(id)?.name ?? id;
  return (
    <LongTable
      caption={t.nav.delegations}
      rows={graph.delegations}
      rowKey={(d) => d.id}
      columns={[
        { label: t.from, cell: (d) => <AgentLink id={d.fromAgent} name={agents.get(d.fromAgent)?.name} /> },
        { label: t.to, cell: (d) => <AgentLink id={d.toAgent} name={agents.get(d.toAgent)?.name} /> },
        { label: t.state, cell: (d) => <Status of={d.active ? 'active' : d.revokedAt ? 'revoked' : 'expired'} /> },
        { label: t.depth, num: true, cell: (d) => d.depth },
        {
          label: t.permissions,
          num: true,
          cell: (d) =>
            look ? (
              <button
                type="button"
                className="button plain"
                aria-label={t.narrowing(visible(nameOf(d.fromAgent)), visible(nameOf(d.toAgent)))}
                onClick={() => look(d.id)}
              >
                {d.permissionCount}
              </button>
            ) : (
              d.permissionCount
            ),
        },
        { label: t.expires, cell: (d) => <Time at={d.expiresAt} /> },
        ...(rights.write
          ? [
              {
                label: t.change,
                cell: (d: DelegationGraph['delegations'][number]) =>
                  d.revokedAt === null &&
                  d.active && (
                    <Action
                      danger
                      label={t.revoke}
                      question={t.revokeDelegation(nameOf(d.fromAgent), nameOf(d.toAgent))}
                      preview={() => legate.delegations.revoke(d.id, { preview: true })}
                      run={(reason) => legate.delegations.revoke(d.id, { reason })}
                      stale={['delegations', 'agents', 'changes']}
                    />
                  ),
              },
            ]
          : []),
      ]}
    />
  );
}
