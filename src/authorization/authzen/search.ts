import type { z } from 'zod';
import type { Visibility } from '../../access/principal.ts';
import { LegateError, validationFailed } from '../../kernel/errors.ts';
import { asId, type Id, isId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { AgentErrors } from '../agents/index.ts';
import {
  type Asker,
  authorize,
  effectivePermissions,
  findSubjects,
  patternMatches,
  readChains,
} from '../permissions/index.ts';
import { questionOf, SUBJECT_TYPE } from './evaluate.ts';
import { type ActionSearch, DEFAULT_PAGE, type Evaluation, type ResourceSearch, type SubjectSearch } from './schema.ts';

interface Found<T> {
  readonly results: T[];
  /** Present if the search could not follow all chains of the agent. */
  readonly context?: { readonly complete: false };
  readonly page: { readonly next_token: string; readonly count: number };
}

const unknownToken = (): LegateError =>
  validationFailed([{ path: 'page.token', message: 'is not a token that this service issued' }]);

const withCompleteness = <T>(found: Found<T>, complete: boolean): Found<T> =>
  complete ? found : { ...found, context: { complete } };

const singlePage = <T>(results: T[]): Found<T> => ({ results, page: { next_token: '', count: results.length } });

/** Returns the visible agents that may do this now (section 8.4). Nothing is counted or recorded. */
export async function searchSubjects(
  platform: Platform,
  asker: Asker,
  visibility: Visibility,
  body: z.output<typeof SubjectSearch>,
): Promise<Found<{ type: string; id: string }>> {
  if (body.subject.type !== SUBJECT_TYPE) return singlePage([]);
  const {
    action,
    resource,
    arguments: args,
    context,
  } = questionOf({ ...body, subject: { type: SUBJECT_TYPE, id: 'x' } });
  const limit = body.page?.limit ?? DEFAULT_PAGE;
  const token = body.page?.token;
  const after = token ? Buffer.from(token, 'base64url').toString() : undefined;
  if (after !== undefined && !isId('agent', after)) throw unknownToken();
  const { agents, next } = await findSubjects(
    platform,
    asker,
    visibility,
    { action, resource, arguments: args, context },
    { limit, after },
  );
  const results = agents.map(({ id }) => ({ type: SUBJECT_TYPE, id }));
  return {
    results,
    page: { next_token: next === undefined ? '' : Buffer.from(next).toString('base64url'), count: results.length },
  };
}

/**
 * Returns the resources of a type that the agent may act on (section 8.5), among those whose names are known: the tools
 * of registered MCP servers, and resources in its permissions without a wildcard.
 */
export async function searchResources(
  platform: Platform,
  asker: Asker,
  body: z.output<typeof ResourceSearch>,
): Promise<Found<{ type: string; id: string }>> {
  const prefix = `${body.resource.type}:`;
  const held = await permissionsOf(platform, asker, body.subject);
  if (!held) return singlePage([]);
  const named = new Set(
    [
      ...held.permissions.map((p) => p.resource).filter((r) => !r.includes('*')),
      ...(await platform.knownResources(platform.database.read)),
    ].filter((r) => r.startsWith(prefix)),
  );
  const all = [...named].sort().map((resource) => ({ type: body.resource.type, id: resource.slice(prefix.length) }));
  const found = await page(platform, asker, all, body.page, (resource) => ({ ...body, resource }));
  return withCompleteness(found, held.complete);
}

/**
 * Returns the actions that the agent may perform on the resource (section 8.6). The results include `*` if it may
 * perform any action.
 */
export async function searchActions(
  platform: Platform,
  asker: Asker,
  body: z.output<typeof ActionSearch>,
): Promise<Found<{ name: string }>> {
  const held = await permissionsOf(platform, asker, body.subject);
  if (!held) return singlePage([]);
  const resource = `${body.resource.type}:${body.resource.id}`;
  const names = new Set(held.permissions.filter((p) => patternMatches(p.resource, resource)).flatMap((p) => p.actions));
  const all = [...names].sort().map((name) => ({ name }));
  const found = await page(platform, asker, all, body.page, (action) => ({ ...body, action }));
  return withCompleteness(found, held.complete);
}

/** Returns the agent's effective permissions, or undefined if it is unknown or not visible to the caller. */
async function permissionsOf(platform: Platform, asker: Asker, subject: Evaluation['subject']) {
  const agentId = asId('agent', subject.id);
  if (subject.type !== SUBJECT_TYPE || !(await isVisible(platform, asker, agentId))) return undefined;
  return effectivePermissions(await readChains(platform.database.read, agentId), platform.clock.now());
}

async function isVisible(platform: Platform, asker: Asker, agentId: Id<'agent'>): Promise<boolean> {
  try {
    await authorize(platform, asker, {
      agentId: asId('agent', agentId.slice(0, 64)),
      action: 'x',
      resource: 'x',
      dryRun: true,
    });
    return true;
  } catch (error) {
    if (error instanceof LegateError && error.code === AgentErrors.AGENT_NOT_FOUND.code) return false;
    throw error;
  }
}

/** Returns one page of the candidates for which the decision is true now. */
async function page<T>(
  platform: Platform,
  asker: Asker,
  candidates: readonly T[],
  pageRequest: { token?: string | undefined; limit?: number | undefined } | undefined,
  toEvaluation: (candidate: T) => Evaluation,
): Promise<Found<T>> {
  const from = pageRequest?.token ? Number(pageRequest.token) : 0;
  if (!(Number.isSafeInteger(from) && from >= 0)) throw unknownToken();
  const limit = pageRequest?.limit ?? DEFAULT_PAGE;
  const results: T[] = [];
  let at = from;
  for (; at < candidates.length && results.length === 0; at += limit) {
    const slice = candidates.slice(at, at + limit);
    const answers = await Promise.all(
      slice.map((candidate) => authorize(platform, asker, { ...questionOf(toEvaluation(candidate)), dryRun: true })),
    );
    results.push(...slice.filter((_, i) => answers[i]?.allowed));
  }
  return { results, page: { next_token: at < candidates.length ? String(at) : '', count: results.length } };
}
