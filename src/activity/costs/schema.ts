import { z } from 'zod';
import { OwnerFilter } from '../../access/owner-filter.ts';
import { PageQuery } from '../../http/page.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { isoMoment, isoTimestamp, jsonObject, storedObject, text } from '../../kernel/json.ts';
import { anyOf } from '../../kernel/query.ts';
import { wholeNumber } from '../../kernel/whole-number.ts';

const MAX_METADATA_BYTES = 16 * 1024;
const MAX_AMOUNT = 1e12;
const MAX_TOKENS = 1e15;

const Currency = z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 currency code, such as USD');
const AgentId = idOf('agent', text(64));

/** Contract 14. */
export const RecordCost = z
  .strictObject({
    agentId: AgentId,
    amount: z.number().min(0).max(MAX_AMOUNT),
    currency: Currency.default('USD'),
    tokens: wholeNumber(0, MAX_TOKENS).optional(),
    auditId: idOf('audit', text(64))
      .optional()
      .meta({ description: 'The decision that caused the cost: an audit entry of the same agent.' }),
    metadata: jsonObject(MAX_METADATA_BYTES).optional(),
  })
  .meta({ id: 'RecordCostRequest' });
export type RecordCost = z.output<typeof RecordCost>;

export const Cost = z
  .object({
    id: z.string(),
    agentId: z.string(),
    amount: z.number(),
    currency: z.string(),
    tokens: z.number().nullable(),
    auditId: z.string().nullable(),
    metadata: storedObject,
    createdAt: isoTimestamp,
  })
  .meta({ id: 'Cost' });
export type Cost = z.output<typeof Cost>;

export const CostFilter = z.strictObject({
  agentId: anyOf(AgentId),
  since: isoMoment.optional(),
  until: isoMoment.optional(),
  ...OwnerFilter,
});
export type CostFilter = z.output<typeof CostFilter>;
export const ListCosts = PageQuery.extend(CostFilter.shape);

const Total = z.object({ currency: z.string(), amount: z.number() });
const Sum = z.object({
  count: z.number().meta({ description: 'Number of recorded costs.' }),
  tokens: z.number(),
  totals: z.array(Total),
});

/** Sums by agent and currency. Amounts of different currencies are never added. */
export const CostSummary = Sum.extend({
  agents: z
    .array(Sum.extend({ agentId: z.string(), name: z.string() }))
    .meta({ description: 'Sums per agent, for the hundred agents with the most costs.' }),
}).meta({ id: 'CostSummary' });
export type CostSummary = z.output<typeof CostSummary>;

const MAX_BUCKETS = 200;
const DEFAULT_BUCKETS = 30;

/** Query of GET /costs/series. */
export const CostSeriesQuery = CostFilter.extend({
  buckets: z
    .string()
    .regex(/^[0-9]{1,3}$/, `must be a whole number from 1 to ${MAX_BUCKETS}`)
    .transform(Number)
    .refine((n) => n >= 1 && n <= MAX_BUCKETS, { message: `must be a whole number from 1 to ${MAX_BUCKETS}` })
    .default(DEFAULT_BUCKETS)
    .meta({ description: `1 to ${MAX_BUCKETS}.`, type: 'integer', minimum: 1, maximum: MAX_BUCKETS }),
});

/** Contract 17.12. Amounts of different currencies are never added. */
export const CostSeries = z
  .object({ buckets: z.array(Sum.extend({ from: isoTimestamp, to: isoTimestamp })) })
  .meta({ id: 'CostSeries', description: 'Oldest first; `from` is inclusive, `to` exclusive.' });
export type CostSeries = z.output<typeof CostSeries>;

export const Metric = z.enum(['cost', 'tokens', 'calls']);
export const Window = z.enum(['hour', 'day', 'month']);
export const OnExceed = z.enum(['notify', 'deny']);

const Limit = z.number().min(0).max(MAX_TOKENS);

export const CreateBudget = z
  .strictObject({
    agentId: AgentId,
    metric: Metric,
    limit: Limit,
    window: Window,
    onExceed: OnExceed.default('notify'),
    currency: Currency.optional().meta({
      description: 'Only for metric cost: counts costs in this currency only. USD by default.',
    }),
  })
  .refine((b) => b.currency === undefined || b.metric === 'cost', {
    path: ['currency'],
    message: 'is allowed for metric cost only',
  })
  .meta({ id: 'CreateBudgetRequest' });
export type CreateBudget = z.output<typeof CreateBudget>;

export const UpdateBudget = z
  .strictObject({ limit: Limit.optional(), window: Window.optional(), onExceed: OnExceed.optional() })
  .meta({ id: 'UpdateBudgetRequest' });
export type UpdateBudget = z.output<typeof UpdateBudget>;

/** A limit on what an agent may use in a clock hour, day or month (UTC). */
export const Budget = z
  .object({
    id: z.string(),
    agentId: z.string(),
    metric: Metric,
    currency: z.string().nullable(),
    limit: z.number(),
    window: Window,
    onExceed: OnExceed,
    used: z.number().meta({ description: 'Usage in the current window.' }),
    resetsAt: isoTimestamp.meta({ description: 'End of the current window.' }),
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp,
  })
  .meta({ id: 'Budget' });
export type Budget = z.output<typeof Budget>;

export const BudgetFilter = z.strictObject({ agentId: anyOf(AgentId), ...OwnerFilter });
export type BudgetFilter = z.output<typeof BudgetFilter>;
export const ListBudgets = PageQuery.extend(BudgetFilter.shape);
