import { z } from 'zod';
import { ACTOR_KINDS } from '../../access/actor.ts';
import { EnterpriseSchema, WorkloadSchema } from '../../access/actor-schema.ts';
import { DecisionTrace, PermissionSource } from '../../authorization/permissions/index.ts';
import { isoTimestamp, storedObject } from '../../kernel/json.ts';
import { commaList } from '../../kernel/query.ts';
import { ListFilters } from './filters.ts';
import { PlaceQuery } from './pages.ts';

/** Contract 17.4. */
const AskedBy = z
  .object({
    kind: z.enum(ACTOR_KINDS),
    id: z.string().nullable(),
    userId: z.string().optional(),
    clientId: z.string().optional(),
    grantId: z.string().optional(),
    workload: WorkloadSchema.optional(),
    enterprise: EnterpriseSchema.optional(),
  })
  .meta({ id: 'AskedBy', description: 'Who requested the decision. Absent if the agent itself did, with its token.' });

/** Specification 2.5 and contract 8. */
export const AuditEntry = z
  .object({
    id: z.string(),
    agentId: z.string(),
    userId: z.string().meta({ description: 'Owner of the agent.' }),
    action: z.string(),
    resource: z.string(),
    parameters: storedObject.meta({ description: 'Secret-looking values are redacted before they are stored.' }),
    result: z.enum(['allowed', 'denied', 'rate_limited']),
    durationMs: z.number(),
    tokensCost: z.number(),
    timestamp: isoTimestamp,
    reason: z.string().nullable(),
    delegationIds: z
      .array(z.string())
      .meta({ description: 'The chain of a delegated decision, from the root to the agent.' }),
    ip: z.string().nullable(),
    userAgent: z.string().nullable(),
    seq: z.int(),
    askedBy: AskedBy.optional(),
    approvalId: z.string().optional().meta({ description: 'The approval that this call used.' }),
    permission: z
      .object({ resource: z.string(), source: PermissionSource })
      .optional()
      .meta({ description: 'The entry of the agent that allowed the call or whose constraint refused it.' }),
    erased: z
      .literal(true)
      .optional()
      .meta({ description: 'Parameters, address and user agent were erased. The rest can still be proven.' }),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.output<typeof AuditEntry>;

/** The explanation of a recorded decision. */
export const ExplainedEntry = z
  .object({
    entry: AuditEntry,
    trace: DecisionTrace,
    complete: z.boolean().meta({
      description: 'false: not all agents above could be read, and chains through the others count as not held.',
    }),
    evaluated: z
      .object({ result: AuditEntry.shape.result, reason: z.string().nullable() })
      .meta({ description: 'Result of the evaluation shown in the trace.' }),
    asOf: z
      .int()
      .nullable()
      .meta({
        description:
          'Sequence of the entry: the trace shows agents, delegations, approvals and counters as the decision found ' +
          'them. null: the entry is older than their versions, and the trace shows the current policy.',
      }),
    policyChanged: z.boolean().meta({
      description: 'The agent, or one above it in its chains, has changed since.',
    }),
  })
  .meta({ id: 'ExplainedAuditEntry' });

const MAX_OFFSET = 10_000;
const MAX_ACTIONS = 50;
const MAX_ACTION_CHARS = 128;
const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 100;

const wholeNumber = (max: number, min: number, beyond = '') =>
  z
    .string()
    .regex(/^[0-9]{1,9}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((n) => n >= min && n <= max, { message: `must be a whole number from ${min} to ${max}${beyond}` })
    .meta({ type: 'integer', minimum: min, maximum: max });

export const AuditFilter = z.strictObject({
  ...ListFilters,
  actions: commaList((action): action is string => action.length <= MAX_ACTION_CHARS, {
    max: MAX_ACTIONS,
    expected: `must be 1 to ${MAX_ACTIONS} actions, separated by commas`,
    description: 'Actions, separated by commas, any of which may match.',
  }).optional(),
});
export type AuditFilter = z.output<typeof AuditFilter>;

export const ListAudit = AuditFilter.extend({
  limit: wholeNumber(MAX_LIMIT, 1).default(DEFAULT_LIMIT),
  offset: wholeNumber(MAX_OFFSET, 0, '; beyond it follow the cursor of the Link header').default(0),
  ...PlaceQuery,
});

const ExportOrder = z.enum(['asc', 'desc']).default('asc').meta({ description: 'asc: oldest first.' });

export const ExportFile = AuditFilter.extend({ format: z.enum(['json', 'csv', 'ndjson']), order: ExportOrder });
export type ExportFormat = z.output<typeof ExportFile>['format'];

const MAX_SEQ_DIGITS = 15;
const seqNumber = z
  .string()
  .regex(new RegExp(`^[1-9][0-9]{0,${MAX_SEQ_DIGITS - 1}}$`), 'must be a whole number of 1 or more')
  .transform(Number)
  .optional();

const SealedSpan = {
  fromSeq: seqNumber.meta({ type: 'integer', minimum: 1, description: 'Sequence number of the first row.' }),
  toSeq: seqNumber.meta({ type: 'integer', minimum: 1, description: 'Sequence number of the last row.' }),
};

export const SealedExport = AuditFilter.extend(SealedSpan);

export const ExportAudit = AuditFilter.extend({
  format: z.enum(['json', 'csv', 'ndjson', 'sealed']),
  order: ExportOrder,
  ...SealedSpan,
}).refine(({ format, order }) => format !== 'sealed' || order === 'asc', {
  path: ['order'],
  message: 'must be asc for a sealed export',
});

const MAX_BUCKETS = 200;
const DEFAULT_BUCKETS = 50;
export const AskHistogram = AuditFilter.extend({ buckets: wholeNumber(MAX_BUCKETS, 1).default(DEFAULT_BUCKETS) });

const ResultCounts = z
  .object({ allowed: z.int(), denied: z.int(), rate_limited: z.int() })
  .meta({ id: 'ResultCounts', description: 'Number of decisions by result.' });

export const Histogram = z
  .object({
    since: isoTimestamp.nullable().meta({ description: 'Inclusive. null: the range is open and no entry matches.' }),
    until: isoTimestamp.nullable().meta({ description: 'Exclusive.' }),
    buckets: z
      .array(z.object({ since: isoTimestamp, until: isoTimestamp, counts: ResultCounts }))
      .meta({ description: 'Equal parts of the range; fewer than asked for if it has fewer milliseconds.' }),
  })
  .meta({ id: 'AuditHistogram' });
export type Histogram = z.output<typeof Histogram>;

export const FACETS = ['reason', 'action', 'resource', 'agentId', 'ip'] as const;
const MAX_FACETS = 100;
export const AskFacets = AuditFilter.extend({
  by: z.enum(FACETS),
  limit: wholeNumber(MAX_FACETS, 1).default(10),
});

export const Facets = z
  .object({
    by: z.enum(FACETS),
    total: z.int().meta({ description: 'Matching entries.' }),
    missing: z.int().meta({ description: 'Matching entries without a value.' }),
    distinct: z.int().meta({ description: 'Number of different values.' }),
    values: z
      .array(z.object({ value: z.string(), count: z.int(), counts: ResultCounts }))
      .meta({ description: 'The most frequent first.' }),
  })
  .meta({ id: 'AuditFacets' });
export type Facets = z.output<typeof Facets>;
