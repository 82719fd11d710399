import type { Agent, AuthorizeDecision } from 'legate/client';
import { legate, rights, serverNow } from '../api.ts';
import { useKept } from '../parts/hooks.tsx';
import { Empty, Result, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

/** Maximum number of questions in one request. */
const MAX_QUESTIONS = 100;
const MONTH_MS = 30 * 86_400_000;

/** Reasons for temporary refusals. The agent has the permission. */
const CONDITIONS = new Set([
  'APPROVAL_REQUIRED',
  'RATE_LIMITED',
  'BUDGET_EXCEEDED',
  'OUTSIDE_TIME_WINDOW',
  'IP_NOT_ALLOWED',
  'ARGUMENTS_NOT_ALLOWED',
]);

/** A table of resources (the tools of all servers and those that the agent requested most) and actions. */
export function Could({ agent }: { agent: Agent }) {
  const matrix = useKept(['agents', 'could', agent.id, agent.updatedAt], async () => {
    const since = new Date(Math.floor(serverNow() / 3.6e6) * 3.6e6 - MONTH_MS).toISOString();
    const [servers, asked, effective] = await Promise.all([
      rights.all ? legate.mcp.servers.list({ limit: 100 }).page() : undefined,
      legate.audit.facets({ by: 'resource', agentId: [agent.id], since, limit: 20 } as never),
      legate.agents.permissions(agent.id),
    ]);
    const tools = (servers?.items ?? []).flatMap((s) => s.tools.map((tool) => `mcp:${s.name}:${tool}`));
    const resources = [...new Set([...tools, ...asked.values.map((v) => v.value)])];
    const known = effective.flatMap((p) => p.actions).filter((action) => action !== '*');
    const actions = [...new Set(known.length > 0 ? known : ['read', 'write', 'execute'])].slice(0, 6);
    const shown = resources.slice(0, Math.floor(MAX_QUESTIONS / actions.length));
    const requests = shown.flatMap((resource) =>
      actions.map((action) => ({ agentId: agent.id, action, resource, dryRun: true, explain: true })),
    );
    const { results } = requests.length > 0 ? await legate.authorizeBatch({ requests }) : { results: [] };
    return {
      actions,
      left: resources.length - shown.length,
      rows: shown.map((resource, r) => ({
        resource,
        answers: actions.map((_, a) => results[r * actions.length + a]),
      })),
    };
  });
  return (
    <Section title={t.could}>
      <p className="hint">{t.couldHint}</p>
      <Result of={matrix} lines={6}>
        {({ actions, rows, left }) =>
          rows.length === 0 ? (
            <Empty>{t.couldNothing}</Empty>
          ) : (
            <>
              <Table
                caption={t.could}
                rows={rows}
                rowKey={(row) => row.resource}
                columns={[
                  { label: t.resource, cell: (row) => <Untrusted mono>{row.resource}</Untrusted> },
                  ...actions.map((action, a) => ({
                    label: action,
                    cell: (row: (typeof rows)[number]) => <Answer of={row.answers[a]} />,
                  })),
                ]}
              />
              {left > 0 && <p className="quiet">{t.couldLeft(left)}</p>}
            </>
          )
        }
      </Result>
    </Section>
  );
}

function Answer({ of }: { of: AuthorizeDecision | { readonly error: { readonly message: string } } | undefined }) {
  if (!of || 'error' in of) return <span className="quiet">–</span>;
  if (of.allowed) {
    const cap = of.trace?.entries.find((e) => e.outcome === 'allowed' && e.limit !== undefined);
    return (
      <span className="status allowed">
        <span aria-hidden="true">●</span>
        {cap ? t.left(Math.max(0, (cap.limit ?? 0) - (cap.used ?? 0))) : t.yes}
      </span>
    );
  }
  const reason = of.reason ?? '';
  return CONDITIONS.has(reason) ? (
    <span className="status waiting">
      <span aria-hidden="true">◔</span>
      {(t.reasons as Record<string, string>)[reason] ?? reason}
    </span>
  ) : (
    <span className="quiet">{t.no}</span>
  );
}
