import type { z } from 'zod';
import { asQuery, type InProcess, type OneOrMore } from '../../access/in-process.ts';
import type { Visibility } from '../../access/principal.ts';
import type { Platform } from '../../platform.ts';
import { auditFacets, auditHistogram } from './count-audit.ts';
import { exportAudit, exportSealed } from './export-audit.ts';
import { type AuditPage, explainAuditEntry, getAuditEntry, queryAudit } from './query.ts';
import {
  AskFacets,
  AskHistogram,
  type AuditEntry,
  type AuditFilter,
  ExportFile,
  type FACETS,
  type Facets,
  type Histogram,
  ListAudit,
  SealedExport,
} from './schema.ts';

export type SealedExportOptions = Filter & { readonly fromSeq?: number; readonly toSeq?: number };
type Filter = OneOrMore<InProcess<z.input<typeof AuditFilter>>>;

/**
 * `legate.audit`: the endpoints under /audit as functions, with the rights of an admin. Filters are those of the query
 * string. Throws {@link LegateError}.
 */
export interface AuditApi {
  /**
   * Returns 100 entries unless `limit` says otherwise, newest first unless `order` does. `next` and `prev` are the
   * `cursor` of the pages next to it.
   */
  query(
    filter?: Filter & {
      limit?: number;
      offset?: number;
      order?: 'asc' | 'desc';
      around?: string | undefined;
      cursor?: string | undefined;
    },
  ): Promise<AuditPage>;
  /** Throws 404 AUDIT_ENTRY_NOT_FOUND. */
  get(id: string): Promise<AuditEntry>;
  /** The decision of an entry, evaluated again as it was made. Throws 404 AUDIT_ENTRY_NOT_FOUND. */
  explain(id: string): ReturnType<typeof explainAuditEntry>;
  /** Counts entries by result, in up to 200 equal parts of the range. */
  histogram(filter?: Filter & { buckets?: number }): Promise<Histogram>;
  /** Counts entries by the most frequent values of a field. */
  facets(filter: Filter & { by: (typeof FACETS)[number]; limit?: number }): Promise<Facets>;
  /** Returns the file of GET /audit/export as a stream. Throws 503 TOO_MANY_EXPORTS. */
  export(options: Filter & Pick<z.input<typeof ExportFile>, 'format' | 'order'>): Response;
}

const ALL: Visibility = { kind: 'all' };

/** The file of GET /audit/export?format=sealed, with the rights of an admin. */
export const exportSealedInProcess = (
  platform: Pick<Platform, 'clock' | 'database' | 'log' | 'reader' | 'stateOf'>,
  options: SealedExportOptions,
): Promise<Response> => exportSealed(platform, ALL, asQuery(SealedExport, options), true);

export function auditApi(
  platform: Pick<Platform, 'beforeLongPage' | 'clock' | 'database' | 'log' | 'reader' | 'stateOf'>,
): AuditApi {
  return {
    query: async (asked = {}) => {
      const { limit, offset, order, cursor, around, ...filter } = asQuery(ListAudit, asked);
      return queryAudit(platform, ALL, filter, { limit, offset, order, cursor, around });
    },
    get: (id) => getAuditEntry(platform, ALL, id),
    explain: (id) => explainAuditEntry(platform, ALL, id),
    histogram: async (asked = {}) => {
      const { buckets, ...filter } = asQuery(AskHistogram, asked);
      return auditHistogram(platform, ALL, filter, buckets);
    },
    facets: async (asked) => {
      const { by, limit, ...filter } = asQuery(AskFacets, asked);
      return auditFacets(platform, ALL, filter, by, limit);
    },
    export: (options) => exportAudit(platform, ALL, asQuery(ExportFile, options)),
  };
}
