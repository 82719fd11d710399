import { z } from 'zod';
import { jsonObject, text } from '../../kernel/json.ts';
import { AUTHORIZE_BODY_LIMIT } from '../permissions/index.ts';

const MAX_EVALUATIONS = 100;
const MAX_PAGE = 1000;
export const DEFAULT_PAGE = 100;

/** Free-form, and looked at only for what is named. */
const Properties = jsonObject(AUTHORIZE_BODY_LIMIT).optional();

/** AuthZEN Authorization API 1.0, section 5. Unknown members are ignored. */
const Subject = z.object({ type: text(128), id: text(256), properties: Properties });
const Resource = z.object({ type: text(256), id: text(512), properties: Properties });
const Action = z.object({ name: text(128), properties: Properties });
/** The context belongs to the caller: a member that does not have the form in which it is used counts as absent. */
const Context = z.looseObject({
  ip: z
    .unknown()
    .optional()
    .meta({ description: 'An IPv4 or IPv6 address from which the subject calls; anything else is ignored.' }),
  userAgent: z.unknown().optional().meta({ description: 'A text; anything else is ignored.' }),
});

export const Evaluation = z
  .object({ subject: Subject, action: Action, resource: Resource, context: Context.optional() })
  .meta({ id: 'AuthZenEvaluation' });
export type Evaluation = z.output<typeof Evaluation>;

/** Section 7: defaults at the top, overridden member by member in each item. An item is looked at when its turn comes. */
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

/** A limit beyond ours is ours; 0 leaves it to us. */
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
const Sought = { properties: Properties };

/** Section 8: the id of what is searched for is ignored. */
export const SubjectSearch = z
  .object({
    subject: z.object({ type: text(128), ...Sought }),
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
    resource: z.object({ type: text(256), ...Sought }),
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
      .meta({ description: 'auditId: the audit entry. reason: the code of a refusal.' }),
  })
  .meta({ id: 'AuthZenDecision' });
export type Decision = z.output<typeof Decision>;

export const Decisions = z.object({ evaluations: z.array(Decision) }).meta({ id: 'AuthZenDecisions' });

const found = <T extends z.ZodType>(item: T) =>
  z.object({ results: z.array(item), page: z.object({ next_token: z.string(), count: z.int() }) });
export const SubjectsFound = found(z.object({ type: z.string(), id: z.string() })).meta({ id: 'AuthZenSubjects' });
export const ResourcesFound = found(z.object({ type: z.string(), id: z.string() })).meta({ id: 'AuthZenResources' });
export const ActionsFound = found(z.object({ name: z.string() })).meta({ id: 'AuthZenActions' });

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
