import { z } from 'zod';
import { isNarrowed, slotHolderOf } from '../../access/principal.ts';
import { pageLinks } from '../../http/page.ts';
import { defineRoute } from '../../platform.ts';
import { SealErrors } from '../seal/errors.ts';
import { auditFacets, auditHistogram } from './count-audit.ts';
import { AuditErrors } from './errors.ts';
import { exportAudit, exportSealed } from './export-audit.ts';
import { withoutPlace } from './pages.ts';
import { explainAuditEntry, getAuditEntry, queryAudit } from './query.ts';
import {
  AskFacets,
  AskHistogram,
  AuditEntry,
  ExplainedEntry,
  ExportAudit,
  Facets,
  Histogram,
  ListAudit,
} from './schema.ts';

const mayRead = { scope: 'audit:read', resource: 'legate:audit', action: 'read', self: true } as const;

/** Specification 4.4. */
export const auditRoutes = [
  defineRoute({
    method: 'GET',
    path: '/audit',
    summary: 'List audit entries',
    description:
      'The entries that the caller may see, newest first. A Link header with rel="next" and rel="prev" points to the ' +
      'neighbouring pages and stays exact while entries arrive.',
    access: mayRead,
    query: ListAudit,
    longPages: true,
    responses: { 200: z.array(AuditEntry) },
    errors: [AuditErrors.AUDIT_ENTRY_NOT_FOUND],
    handle: async (call, platform) => {
      const { limit, offset, order, cursor, around, ...filter } = call.query;
      const place = { limit, offset, order, cursor, around };
      const { entries, next, prev } = await queryAudit(platform, call.visibility, filter, place);
      return { status: 200, body: entries, ...pageLinks(withoutPlace(call.url), { next, prev }) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/audit/export',
    summary: 'Export audit entries',
    description:
      'Every matching entry, oldest first, as a file. CSV cells that a spreadsheet would take for formulas get a ' +
      'leading single quote; JSON is lossless. With format `sealed` anyone can check the file offline with ' +
      'npx legate verify: administrators get every row of a range, and the file proves that none is missing; with ' +
      'filters, and for others, each entry has its own proof.',
    access: mayRead,
    query: ExportAudit,
    responses: {
      200: { mediaTypes: ['application/json', 'text/csv', 'application/x-ndjson'], json: z.array(AuditEntry) },
    },
    errors: [
      AuditErrors.TOO_MANY_EXPORTS,
      SealErrors.INVALID_TREE_RANGE,
      SealErrors.LEDGER_NOT_SEALED,
      SealErrors.LEDGER_ROW_NOT_FOUND,
      SealErrors.NOT_YET_SEALED,
    ],
    handle: ({ query, visibility, principal }, platform) => {
      const { format, order, ...filter } = query;
      const holder = slotHolderOf(principal);
      if (format !== 'sealed') return exportAudit(platform, visibility, { ...filter, format, order }, holder);
      const isAdmin = visibility.kind === 'all' && !isNarrowed(principal);
      return exportSealed(platform, visibility, filter, isAdmin, holder);
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/audit/histogram',
    summary: 'Count audit entries over time',
    description:
      'By result, in equal parts of the range. Where `since` or `until` is missing, the range ends with the first ' +
      'or last matching entry.',
    access: mayRead,
    query: AskHistogram,
    responses: { 200: Histogram },
    errors: [AuditErrors.TOO_MANY_SEARCHES],
    handle: async (call, platform) => {
      const { buckets, ...filter } = call.query;
      const holder = slotHolderOf(call.principal);
      return { status: 200, body: await auditHistogram(platform, call.visibility, filter, buckets, holder) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/audit/facets',
    summary: 'Count audit entries by value',
    description: 'The most frequent values of a field among the matching entries.',
    access: mayRead,
    query: AskFacets,
    responses: { 200: Facets },
    errors: [AuditErrors.TOO_MANY_SEARCHES],
    handle: async (call, platform) => {
      const { by, limit, ...filter } = call.query;
      const holder = slotHolderOf(call.principal);
      return { status: 200, body: await auditFacets(platform, call.visibility, filter, by, limit, holder) };
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
      'Every entry and chain that was examined, and why it did or did not allow. Evaluated again for the time of the ' +
      'decision: with its agents, delegations, approvals and counters.',
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
