import { z } from 'zod';
import { jsonObject, text } from '../../kernel/json.ts';
import { AUTHORIZE_BODY_LIMIT } from '../permissions/index.ts';

const MAX_EVALUATIONS = 100;
const MAX_PAGE = 1000;
export const DEFAULT_PAGE = 100;

/** Free-form. Only the members in the contract are used. */
const Properties = jsonObject(AUTHORIZE_BODY_LIMIT).optional();

/** AuthZEN Authorization API 1.0, section 5. Unknown members are ignored. */
const Subject = z.object({ type: text(128), id: text(256), properties: Properties });
const Resource = z.object({ type: text(256), id: text(512), properties: Properties });
const Action = z.object({ name: text(128), properties: Properties });
/** The caller defines the context, so a member in an unexpected format counts as absent. */
const Context = z.looseObject({
  ip: z
    .unknown()
    .optional()
    .meta({ description: 'IPv4 or IPv6 address from which the subject calls. Any other value is ignored.' }),
  userAgent: z.unknown().optional().meta({ description: 'A string. Any other value is ignored.' }),
});

export const Evaluation = z
  .object({ subject: Subject, action: Action, resource: Resource, context: Context.optional() })
  .meta({ id: 'AuthZenEvaluation' });
export type Evaluation = z.output<typeof Evaluation>;

/**
 * Section 7: defaults at the top level, overridden per member by each item. Items are validated one by one during
 * evaluation.
 */
export const Evaluations = z
  .object({
    subject: z.unknown().optional(),
    action: z.unknown().optional(),
    resource: z.unknown().optional(),
    context: z.unknown().optional(),
    evaluations: z.array(z.unknown()).max(MAX_EVALUATIONS).optional(),
    options: z
      .object({
        evaluations_semantic: z
          .enum(['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'])
          .default('execute_all'),
      })
      .optional(),
  })
  .meta({ id: 'AuthZenEvaluations' });
export type Evaluations = z.output<typeof Evaluations>;

/** Limits above the maximum are reduced to it; 0 selects the default. */
const Page = z
  .object({
    token: z.string().max(1024).optional(),
    limit: z
      .int()
      .min(0)
      .transform((limit) => Math.min(limit || DEFAULT_PAGE, MAX_PAGE))
      .optional(),
  })
  .optional();
const SearchTarget = { properties: Properties };

/** Section 8. The id of the searched entity is ignored. */
export const SubjectSearch = z
  .object({
    subject: z.object({ type: text(128), ...SearchTarget }),
    action: Action,
    resource: Resource,
    context: Context.optional(),
    page: Page,
  })
  .meta({ id: 'AuthZenSubjectSearch' });
export const ResourceSearch = z
  .object({
    subject: Subject,
    action: Action,
    resource: z.object({ type: text(256), ...SearchTarget }),
    context: Context.optional(),
    page: Page,
  })
  .meta({ id: 'AuthZenResourceSearch' });
export const ActionSearch = z
  .object({ subject: Subject, resource: Resource, context: Context.optional(), page: Page })
  .meta({ id: 'AuthZenActionSearch' });

export const Decision = z
  .object({
    decision: z.boolean(),
    context: z
      .looseObject({ auditId: z.string().optional(), reason: z.string().optional() })
      .optional()
      .meta({ description: 'auditId: id of the audit entry. reason: code of a refusal.' }),
  })
  .meta({ id: 'AuthZenDecision' });
export type Decision = z.output<typeof Decision>;

export const Decisions = z.object({ evaluations: z.array(Decision) }).meta({ id: 'AuthZenDecisions' });

const searchResponse = <T extends z.ZodType>(item: T) =>
  z.object({
    results: z.array(item),
    context: z.object({ complete: z.literal(false) }).optional(),
    page: z.object({ next_token: z.string(), count: z.int() }),
  });
export const SubjectsFound = searchResponse(z.object({ type: z.string(), id: z.string() })).meta({
  id: 'AuthZenSubjects',
});
export const ResourcesFound = searchResponse(z.object({ type: z.string(), id: z.string() })).meta({
  id: 'AuthZenResources',
});
export const ActionsFound = searchResponse(z.object({ name: z.string() })).meta({ id: 'AuthZenActions' });

/** Section 9. */
export const Configuration = z
  .object({
    policy_decision_point: z.string(),
    access_evaluation_endpoint: z.string(),
    access_evaluations_endpoint: z.string(),
    search_subject_endpoint: z.string(),
    search_resource_endpoint: z.string(),
    search_action_endpoint: z.string(),
  })
  .meta({ id: 'AuthZenConfiguration' });
