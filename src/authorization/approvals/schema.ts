import { z } from 'zod';
import { OwnerFilter } from '../../access/owner-filter.ts';
import { PageQuery } from '../../http/page.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { isoTimestamp, storedObject, text } from '../../kernel/json.ts';
import { anyOf } from '../../kernel/query.ts';

export const ApprovalStatus = z.enum(['pending', 'approved', 'denied', 'used', 'expired']);
export type ApprovalStatus = z.output<typeof ApprovalStatus>;

/** A call that waits, or waited, for a person (contract 6, `requireApproval`). */
export const Approval = z
  .object({
    id: z.string(),
    agentId: z.string(),
    action: z.string(),
    resource: z.string(),
    arguments: storedObject.meta({
      description: 'Values that look like secrets are redacted; the approval is bound to the exact values.',
    }),
    status: ApprovalStatus,
    auditId: z.string().meta({ description: 'Audit entry of the decision that requested the approval.' }),
    createdAt: isoTimestamp,
    expiresAt: isoTimestamp,
    resolvedAt: isoTimestamp.nullable(),
    resolvedBy: z.string().nullable().meta({ description: 'The person who decided.' }),
    note: z.string().nullable(),
  })
  .meta({ id: 'Approval' });
export type Approval = z.output<typeof Approval>;

/** Largest number of characters of a note. */
export const MAX_NOTE = 1000;
export const Resolution = z.strictObject({ note: text(MAX_NOTE).optional() });

export const ApprovalFilter = z.strictObject({
  status: anyOf(ApprovalStatus),
  agentId: anyOf(idOf('agent', text(64))),
  ...OwnerFilter,
});
export type ApprovalFilter = z.output<typeof ApprovalFilter>;
const ApprovalSort = z.enum(['-createdAt', 'expiresAt']);
export type ApprovalSort = z.output<typeof ApprovalSort>;
export const ListApprovals = PageQuery.extend({
  ...ApprovalFilter.shape,
  sort: ApprovalSort.default('-createdAt').meta({
    description: 'The order: newest first (-createdAt), or what expires first (expiresAt).',
  }),
});
