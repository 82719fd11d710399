import type { AuditEntry } from 'legate/client';
import { memo } from 'react';
import { t } from '../texts/index.ts';
import { Go } from './go.tsx';
import { AgentLink, useNames } from './hooks.tsx';
import { Table } from './table.tsx';
import { formatTime, Status, Untrusted } from './text.tsx';

/** Audit entries, each a link to its explanation. */
export const EntryTable = memo(function EntryTable({
  entries,
  withAgent = true,
}: {
  entries: readonly AuditEntry[];
  withAgent?: boolean;
}) {
  const nameOf = useNames(withAgent ? entries.map((e) => e.agentId) : []);
  return (
    <Table
      caption={t.decisions}
      rows={entries}
      rowKey={(e) => e.id}
      columns={[
        {
          label: t.time,
          cell: (e) => (
            <Go to={`/audit/${e.id}`}>
              <time dateTime={e.timestamp} title={e.timestamp}>
                {formatTime(e.timestamp)}
              </time>
            </Go>
          ),
        },
        {
          label: t.result,
          cell: (e) => (
            <>
              <Status of={e.result} /> {e.erased && <span className="tag">{t.erased}</span>}
            </>
          ),
        },
        ...(withAgent
          ? [{ label: t.agent, cell: (e: AuditEntry) => <AgentLink id={e.agentId} name={nameOf(e.agentId)} /> }]
          : []),
        { label: t.action, cell: (e) => <Untrusted mono>{e.action}</Untrusted> },
        { label: t.resource, cell: (e) => <Untrusted mono>{e.resource}</Untrusted> },
        {
          label: t.reason,
          cell: (e) => (e.reason ? ((t.reasons as Record<string, string>)[e.reason] ?? e.reason) : ''),
        },
      ]}
    />
  );
});
