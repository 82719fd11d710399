import type { z } from 'zod';
import { toKnownError } from '../../http/render-error.ts';
import { CommonErrors, LegateError } from '../../kernel/errors.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { AgentErrors } from '../agents/index.ts';
import { type Asker, AuthorizeBody, authorize, CallContext } from '../permissions/index.ts';
import { type Decision, Evaluation, type Evaluations } from './schema.ts';

/** The only supported type of subject. */
export const SUBJECT_TYPE = 'agent';

const parseOptional = <T>(schema: z.ZodType<T>, value: unknown): T | undefined => schema.safeParse(value).data;

/**
 * Converts an evaluation into a question of POST /authorize: the resource becomes `type:id`, the arguments come from
 * the action. Throws 400.
 */
export function questionOf({ subject, action, resource, context }: Evaluation) {
  const ip = parseOptional(CallContext.shape.ip, context?.['ip']);
  const userAgent = parseOptional(CallContext.shape.userAgent, context?.['userAgent']);
  return parseWith(AuthorizeBody, {
    agentId: subject.id.slice(0, 64),
    action: action.name,
    resource: `${resource.type}:${resource.id}`,
    ...(action.properties ? { arguments: action.properties } : {}),
    ...(ip !== undefined || userAgent !== undefined
      ? { context: { ...(ip === undefined ? {} : { ip }), ...(userAgent === undefined ? {} : { userAgent }) } }
      : {}),
  });
}

/**
 * Evaluates one access request (section 6): decided, counted and recorded like any other decision. A subject that is
 * unknown or not visible to the caller is not an error: the decision is false.
 */
export async function evaluate(platform: Platform, asker: Asker, evaluation: Evaluation): Promise<Decision> {
  const question = questionOf(evaluation);
  if (evaluation.subject.type !== SUBJECT_TYPE) return unknownSubject();
  try {
    const { allowed, auditId, reason, approvalId, retryAfter } = await authorize(platform, asker, question);
    return {
      decision: allowed,
      context: {
        ...(auditId === undefined ? {} : { auditId }),
        ...(reason === undefined ? {} : { reason }),
        ...(approvalId === undefined ? {} : { approvalId }),
        ...(retryAfter === undefined ? {} : { retryAfter }),
      },
    };
  } catch (error) {
    if (error instanceof LegateError && error.code === AgentErrors.AGENT_NOT_FOUND.code) return unknownSubject();
    throw error;
  }
}

const unknownSubject = (): Decision => ({ decision: false, context: { reason: 'SUBJECT_NOT_FOUND' } });

/**
 * Evaluates several access requests (section 7). An item inherits each missing member from the top level, and each
 * missing type or id of its own subject or resource. `execute_all` evaluates all items; the other semantics stop at the
 * first denial or permit and return the results so far. An invalid item counts as a denial that names the error.
 * Without items, the body is one evaluation.
 */
export async function evaluateAll(
  platform: Platform,
  asker: Asker,
  body: Evaluations,
  requestId: string,
): Promise<Decision | { evaluations: Decision[] }> {
  const { evaluations: items, options, ...defaults } = body;
  if (items === undefined || items.length === 0) return evaluate(platform, asker, parseWith(Evaluation, defaults));
  const one = async (item: unknown): Promise<Decision> => {
    try {
      return await evaluate(
        platform,
        asker,
        parseWith(Evaluation, isObject(item) ? withDefaults(item, defaults) : item),
      );
    } catch (error) {
      if (!(error instanceof LegateError) || (error.status !== 400 && error.code !== CommonErrors.INTERNAL_ERROR.code))
        throw error;
      const { status, message, details } = toKnownError(platform, error, requestId);
      const id = details?.['id'];
      return { decision: false, context: { error: { status, message, ...(id === undefined ? {} : { id }) } } };
    }
  };
  const semantic = options?.evaluations_semantic ?? 'execute_all';
  if (semantic === 'execute_all') return { evaluations: await Promise.all(items.map(one)) };
  const stopAt = semantic === 'permit_on_first_permit';
  const done: Decision[] = [];
  for (const item of items) {
    const decision = await one(item);
    done.push(decision);
    if (decision.decision === stopAt) break;
  }
  return { evaluations: done };
}

function withDefaults(item: Record<string, unknown>, defaults: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...defaults, ...item };
  for (const member of ['subject', 'resource']) {
    const [own, above] = [item[member], defaults[member]];
    if (!isObject(own) || !isObject(above)) continue;
    const { type, id } = above;
    merged[member] = { ...(type === undefined ? {} : { type }), ...(id === undefined ? {} : { id }), ...own };
  }
  return merged;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
