import type { z } from 'zod';
import { asOverHttp, type InProcess } from '../../access/in-process.ts';
import type { Visibility } from '../../access/principal.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { exportAudit } from './export-audit.ts';
import { type AuditPage, getAuditEntry, queryAudit } from './query.ts';
import { type AuditEntry, type AuditFilter, ExportAudit, ListAudit } from './schema.ts';

/** `legate.audit`: the endpoints under /audit as functions, with the power of an admin. Filters are those of the query string. Throws {@link LegateError}. */
export interface AuditApi {
  /** Newest first, 100 unless `limit` says otherwise; `next` is the `cursor` of the page after. */
  query(
    filter?: InProcess<z.input<typeof AuditFilter>> & { limit?: number; offset?: number; cursor?: string | undefined },
  ): Promise<AuditPage>;
  /** Throws 404 AUDIT_ENTRY_NOT_FOUND. */
  get(id: string): Promise<AuditEntry>;
  /** The file of GET /audit/export, written while it is read. Throws 503 TOO_MANY_EXPORTS. */
  export(options: InProcess<z.input<typeof ExportAudit>>): Response;
}

const ALL: Visibility = { kind: 'all' };
const asText = (n: number | undefined): string | undefined => (n === undefined ? undefined : String(n));

export function auditApi(platform: Platform): AuditApi {
  return {
    query: async ({ limit, offset, ...asked } = {}) => {
      const {
        limit: size,
        offset: skip,
        cursor,
        ...filter
      } = parseWith(ListAudit, asOverHttp({ ...asked, limit: asText(limit), offset: asText(offset) }));
      return queryAudit(platform, ALL, filter, { limit: size, offset: skip, cursor });
    },
    get: (id) => getAuditEntry(platform, ALL, id),
    export: (options) => {
      const { format, ...filter } = parseWith(ExportAudit, asOverHttp(options));
      return exportAudit(platform, ALL, filter, format);
    },
  };
}
