import { z } from 'zod';
import { slotHolderOf } from '../../access/principal.ts';
import { nextPage } from '../../http/page.ts';
import { defineRoute } from '../../platform.ts';
import { AuditErrors } from './errors.ts';
import { exportAudit } from './export-audit.ts';
import { explainAuditEntry, getAuditEntry, queryAudit } from './query.ts';
import { AuditEntry, ExplainedEntry, ExportAudit, ListAudit } from './schema.ts';

const mayRead = { scope: 'audit:read', resource: 'legate:audit', action: 'read', self: true } as const;

/** Specification 4.4. */
export const auditRoutes = [
  defineRoute({
    method: 'GET',
    path: '/audit',
    summary: 'List audit entries',
    description:
      'Newest first, of what the caller may see. A Link header with rel="next" leads to the next page and stays ' +
      'exact while entries arrive.',
    access: mayRead,
    query: ListAudit,
    responses: { 200: z.array(AuditEntry) },
    handle: async (call, platform) => {
      const { limit, offset, cursor, ...filter } = call.query;
      const { entries, next } = await queryAudit(platform, call.visibility, filter, { limit, offset, cursor });
      const url = new URL(call.url);
      // The cursor stands where this page ends; an offset would skip again.
      url.searchParams.delete('offset');
      return { status: 200, body: entries, ...nextPage(url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/audit/export',
    summary: 'Export audit entries',
    description:
      'Every entry that fits, oldest first, as a file. CSV cells that a spreadsheet would take for formulas get a ' +
      'leading single quote; JSON is free of loss.',
    access: mayRead,
    query: ExportAudit,
    responses: {
      200: { mediaTypes: ['application/json', 'text/csv', 'application/x-ndjson'], json: z.array(AuditEntry) },
    },
    errors: [AuditErrors.TOO_MANY_EXPORTS],
    handle: (call, platform) => {
      const { format, ...filter } = call.query;
      return exportAudit(platform, call.visibility, filter, format, slotHolderOf(call.principal));
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/audit/:id',
    summary: 'Get an audit entry',
    access: mayRead,
    params: z.object({ id: z.string() }),
    responses: { 200: AuditEntry },
    errors: [AuditErrors.AUDIT_ENTRY_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: await getAuditEntry(platform, call.visibility, call.params.id),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/audit/:id/explain',
    summary: 'Explain a recorded decision',
    description:
      'Each entry and chain that was looked at and why it did or did not allow, asked again for the moment of the ' +
      'decision.',
    access: mayRead,
    params: z.object({ id: z.string() }),
    responses: { 200: ExplainedEntry },
    errors: [AuditErrors.AUDIT_ENTRY_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: await explainAuditEntry(platform, call.visibility, call.params.id),
    }),
  }),
];
