import type { z } from 'zod';
import type { Effect } from '../../access/principal.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import type { Call } from '../../platform/route.ts';
import { defineRoute, type Platform } from '../../platform.ts';
import { askerOf, mayCheck } from '../permissions/index.ts';
import { evaluate, evaluateAll } from './evaluate.ts';
import {
  ActionSearch,
  ActionsFound,
  Configuration,
  Decision,
  Decisions,
  Evaluation,
  Evaluations,
  ResourceSearch,
  ResourcesFound,
  SubjectSearch,
  SubjectsFound,
} from './schema.ts';
import { searchActions, searchResources, searchSubjects } from './search.ts';

const ABOUT = 'AuthZEN Authorization API 1.0. Unknown members are ignored.';

const post = <B extends z.ZodType>(o: {
  path: string;
  summary: string;
  description?: string;
  effect?: Effect;
  body: B;
  answer: z.ZodType;
  /** Whether the request makes decisions, which are recorded. */
  isRecorded?: true;
  work: (call: Call<undefined, undefined, z.output<B>>, platform: Platform) => Promise<unknown>;
}) =>
  defineRoute({
    method: 'POST',
    path: `/access/v1/${o.path}`,
    summary: o.summary,
    description: o.description ? `${ABOUT} ${o.description}` : ABOUT,
    access: mayCheck,
    ...(o.effect === undefined ? {} : { effect: o.effect }),
    body: o.body,
    wrongMediaType: CommonErrors.VALIDATION_FAILED,
    echoRequestId: true,
    responses: { 200: o.answer },
    ...(o.isRecorded ? { errors: [CommonErrors.AUDIT_UNAVAILABLE] } : {}),
    handle: async (call, platform) => ({ status: 200, body: await o.work(call, platform) }),
  });

/** Contract 6: AuthZEN as a thin layer over the same decision. */
export const authzenRoutes = [
  post({
    path: 'evaluation',
    summary: 'Decide one access evaluation',
    description:
      'Recorded like every decision. Subject: `{type:"agent", id}`. Resource: `type:id`. Arguments: ' +
      '`action.properties`.',
    body: Evaluation,
    answer: Decision,
    isRecorded: true,
    work: (call, platform) => evaluate(platform, askerOf(call), call.body),
  }),
  post({
    path: 'evaluations',
    summary: 'Decide up to 100 access evaluations',
    body: Evaluations,
    answer: Decisions.or(Decision),
    isRecorded: true,
    work: (call, platform) => evaluateAll(platform, askerOf(call), call.body, call.requestId),
  }),
  post({
    path: 'search/subject',
    summary: 'Search for agents that may do this',
    effect: 'none',
    body: SubjectSearch,
    answer: SubjectsFound,
    work: (call, platform) => searchSubjects(platform, askerOf(call), call.visibility, call.body),
  }),
  post({
    path: 'search/resource',
    summary: 'Search for resources that an agent may act on',
    description:
      'Searches resources known by name: tools of registered MCP servers, and resources in permissions without a ' +
      'wildcard.',
    effect: 'none',
    body: ResourceSearch,
    answer: ResourcesFound,
    work: (call, platform) => searchResources(platform, askerOf(call), call.body),
  }),
  post({
    path: 'search/action',
    summary: 'Search for actions that an agent may perform on a resource',
    effect: 'none',
    body: ActionSearch,
    answer: ActionsFound,
    work: (call, platform) => searchActions(platform, askerOf(call), call.body),
  }),
  defineRoute({
    method: 'GET',
    path: '/.well-known/authzen-configuration',
    mount: 'root',
    summary: 'Metadata of the policy decision point',
    description: 'AuthZEN Authorization API 1.0, section 9.',
    access: 'public',
    crossOrigin: true,
    responses: { 200: Configuration },
    handle: (_call, { baseUrl, config }) => {
      const at = (path: string): string => `${baseUrl}${config.http.restPath.replace(/\/$/, '')}/access/v1/${path}`;
      return {
        status: 200,
        body: {
          policy_decision_point: baseUrl,
          access_evaluation_endpoint: at('evaluation'),
          access_evaluations_endpoint: at('evaluations'),
          search_subject_endpoint: at('search/subject'),
          search_resource_endpoint: at('search/resource'),
          search_action_endpoint: at('search/action'),
        },
      };
    },
  }),
];
