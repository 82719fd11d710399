import type { AuditEntry, EffectivePermission } from 'legate/client';

/**
 * Returns a file for `legate test` (docs/fixtures.md; JSON is YAML): what the agent may do now, and the decision as the
 * expected result. undefined if the conditions of a chain of delegations do not fit into one permission.
 */
export function fixtureOf(
  entry: Pick<AuditEntry, 'action' | 'resource' | 'parameters' | 'ip' | 'timestamp' | 'result' | 'reason'>,
  agent: string,
  permissions: readonly EffectivePermission[],
): string | undefined {
  if (permissions.some((p) => (p.furtherConstraints ?? []).length > 0)) return undefined;
  const question = { agent, action: entry.action, resource: entry.resource };
  return `${JSON.stringify(
    {
      agents: {
        [agent]: {
          permissions: permissions.map(({ resource, actions, constraints }) => ({ resource, actions, constraints })),
        },
      },
      now: entry.timestamp,
      tests: [
        {
          name: `${agent}: ${entry.action} ${entry.resource}`,
          ...question,
          ...(Object.keys(entry.parameters).length > 0 && { arguments: entry.parameters }),
          ...(entry.ip && { ip: entry.ip }),
          expect: entry.result === 'allowed' ? 'allowed' : (entry.reason ?? 'denied'),
        },
      ],
    },
    null,
    2,
  )}\n`;
}

/** Saves a text as a file on the reader's computer. */
export function download(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
