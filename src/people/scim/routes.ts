import { z } from 'zod';
import { CommonErrors } from '../../kernel/errors.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { UserErrors } from '../users/errors.ts';
import { listAnswer, type Resource, resourceAnswer, SCIM_PATH } from './answer.ts';
import { resourceTypes, scimSchemas, serviceProviderConfig } from './discovery.ts';
import { ScimErrors, scimErrorBody } from './errors.ts';
import {
  createScimGroup,
  deleteScimGroup,
  getScimGroup,
  listScimGroups,
  patchScimGroup,
  replaceScimGroup,
} from './groups.ts';
import { PatchRequest } from './patch.ts';
import { GetQuery, ListQuery, SCIM_JSON, ScimGroupInput, ScimList, ScimResource, ScimUserInput } from './schema.ts';
import type { ScimCall } from './scope.ts';
import { spelled } from './spelling.ts';
import { createScimUser, deleteScimUser, getScimUser, listScimUsers, patchScimUser, replaceScimUser } from './users.ts';

const SCIM = { access: 'scim', mediaType: SCIM_JSON, errorBody: scimErrorBody, adaptBody: spelled } as const;
const PUBLIC = { ...SCIM, access: 'public' } as const;
/** Enough for a group of 10,000 members with their names. */
const GROUP_LIMIT = 4 * 1_048_576;
const {
  SCIM_INVALID_FILTER,
  SCIM_INVALID_PATH,
  SCIM_INVALID_SYNTAX,
  SCIM_INVALID_VALUE,
  SCIM_MUTABILITY,
  SCIM_NO_TARGET,
  SCIM_RESOURCE_NOT_FOUND,
  SCIM_UNIQUENESS,
} = ScimErrors;
const VERSIONED = [SCIM_RESOURCE_NOT_FOUND, CommonErrors.PRECONDITION_FAILED];
const CREATE = [SCIM_INVALID_SYNTAX, SCIM_INVALID_VALUE, SCIM_UNIQUENESS];
const WRITE = [...VERSIONED, ...CREATE, UserErrors.LAST_ADMIN];
const PATCH = [...WRITE, SCIM_INVALID_PATH, SCIM_INVALID_FILTER, SCIM_NO_TARGET, SCIM_MUTABILITY];
const LIST_DESCRIPTION =
  'RFC 7644, section 3.4.2: `filter` with eq, ne, co, sw, and, or, not and parentheses, of every attribute except ' +
  '`meta.version`; pages by `startIndex` and `count`. An administrator of a tenant sees that tenant only.';
const found = (rows: readonly object[]) => listAnswer(rows as Resource[], rows.length, { startIndex: 1 });
const one = (rows: readonly { readonly id: string }[], id: string) => {
  const body = rows.find((row) => row.id === id);
  if (!body) throw SCIM_RESOURCE_NOT_FOUND();
  return { status: 200, body, headers: { 'content-type': SCIM_JSON } };
};

/** SCIM 2.0 (RFC 7643, RFC 7644; contract 23.7). */
export const scimRoutes = [
  defineRoute({
    ...SCIM,
    method: 'GET',
    path: `${SCIM_PATH}/Users`,
    summary: 'List SCIM users',
    description: LIST_DESCRIPTION,
    query: ListQuery,
    responses: { 200: ScimList },
    errors: [SCIM_INVALID_FILTER],
    handle: async (call, platform) => {
      const { resources, total } = await listScimUsers(platform, call as ScimCall, call.query);
      return listAnswer(resources, total, call.query);
    },
  }),
  defineRoute({
    ...SCIM,
    method: 'POST',
    path: `${SCIM_PATH}/Users`,
    summary: 'Create a SCIM user',
    description: 'Creates an account without a password. `active: false` creates it suspended.',
    query: GetQuery,
    body: ScimUserInput,
    responses: { 201: ScimResource },
    errors: CREATE,
    handle: async (call, platform) =>
      resourceAnswer(call.request, await createScimUser(platform, call as ScimCall, call.body), call.query, 201),
  }),
  defineRoute({
    ...SCIM,
    method: 'GET',
    path: `${SCIM_PATH}/Users/:id`,
    summary: 'Get a SCIM user',
    params: idParams('user'),
    query: GetQuery,
    responses: { 200: ScimResource, 304: null },
    errors: [SCIM_RESOURCE_NOT_FOUND],
    handle: async (call, platform) =>
      resourceAnswer(call.request, await getScimUser(platform, call as ScimCall, call.params.id), call.query),
  }),
  defineRoute({
    ...SCIM,
    method: 'PUT',
    path: `${SCIM_PATH}/Users/:id`,
    summary: 'Replace a SCIM user',
    description: 'Absent attributes are cleared, except `active`. `active: false` suspends the user.',
    params: idParams('user'),
    query: GetQuery,
    body: ScimUserInput,
    responses: { 200: ScimResource },
    errors: WRITE,
    handle: async (call, platform) => {
      const user = await replaceScimUser(platform, call as ScimCall, call.params.id, call.body);
      return resourceAnswer(call.request, user, call.query);
    },
  }),
  defineRoute({
    ...SCIM,
    method: 'PATCH',
    path: `${SCIM_PATH}/Users/:id`,
    summary: 'Patch a SCIM user',
    description: 'RFC 7644, section 3.5.2: add, remove and replace, with paths and filters. All operations or none.',
    params: idParams('user'),
    query: GetQuery,
    body: PatchRequest,
    responses: { 200: ScimResource },
    errors: PATCH,
    handle: async (call, platform) => {
      const user = await patchScimUser(platform, call as ScimCall, call.params.id, call.body);
      return resourceAnswer(call.request, user, call.query);
    },
  }),
  defineRoute({
    ...SCIM,
    method: 'DELETE',
    path: `${SCIM_PATH}/Users/:id`,
    summary: 'Delete a SCIM user',
    params: idParams('user'),
    responses: { 204: null },
    errors: [...VERSIONED, UserErrors.LAST_ADMIN],
    handle: async (call, platform) => {
      await deleteScimUser(platform, call as ScimCall, call.params.id);
      return { status: 204 };
    },
  }),
  defineRoute({
    ...SCIM,
    method: 'GET',
    path: `${SCIM_PATH}/Groups`,
    summary: 'List SCIM groups',
    description: LIST_DESCRIPTION,
    query: ListQuery,
    responses: { 200: ScimList },
    errors: [SCIM_INVALID_FILTER],
    handle: async (call, platform) => {
      const { resources, total } = await listScimGroups(platform, call as ScimCall, call.query);
      return listAnswer(resources, total, call.query);
    },
  }),
  defineRoute({
    ...SCIM,
    method: 'POST',
    path: `${SCIM_PATH}/Groups`,
    summary: 'Create a SCIM group',
    description: 'The option users.scimGroups gives the members of a group a role or a tenant, by its displayName.',
    query: GetQuery,
    body: ScimGroupInput,
    bodyLimit: GROUP_LIMIT,
    responses: { 201: ScimResource },
    errors: [...CREATE, UserErrors.LAST_ADMIN],
    handle: async (call, platform) =>
      resourceAnswer(call.request, await createScimGroup(platform, call as ScimCall, call.body), call.query, 201),
  }),
  defineRoute({
    ...SCIM,
    method: 'GET',
    path: `${SCIM_PATH}/Groups/:id`,
    summary: 'Get a SCIM group',
    params: idParams('scimGroup'),
    query: GetQuery,
    responses: { 200: ScimResource, 304: null },
    errors: [SCIM_RESOURCE_NOT_FOUND],
    handle: async (call, platform) =>
      resourceAnswer(call.request, await getScimGroup(platform, call as ScimCall, call.params.id), call.query),
  }),
  defineRoute({
    ...SCIM,
    method: 'PUT',
    path: `${SCIM_PATH}/Groups/:id`,
    summary: 'Replace a SCIM group',
    params: idParams('scimGroup'),
    query: GetQuery,
    body: ScimGroupInput,
    bodyLimit: GROUP_LIMIT,
    responses: { 200: ScimResource },
    errors: WRITE,
    handle: async (call, platform) => {
      const group = await replaceScimGroup(platform, call as ScimCall, call.params.id, call.body);
      return resourceAnswer(call.request, group, call.query);
    },
  }),
  defineRoute({
    ...SCIM,
    method: 'PATCH',
    path: `${SCIM_PATH}/Groups/:id`,
    summary: 'Patch a SCIM group',
    description: 'RFC 7644, section 3.5.2: add, remove and replace, with paths and filters. All operations or none.',
    params: idParams('scimGroup'),
    query: GetQuery,
    body: PatchRequest,
    bodyLimit: GROUP_LIMIT,
    responses: { 200: ScimResource },
    errors: PATCH,
    handle: async (call, platform) => {
      const group = await patchScimGroup(platform, call as ScimCall, call.params.id, call.body);
      return resourceAnswer(call.request, group, call.query);
    },
  }),
  defineRoute({
    ...SCIM,
    method: 'DELETE',
    path: `${SCIM_PATH}/Groups/:id`,
    summary: 'Delete a SCIM group',
    params: idParams('scimGroup'),
    responses: { 204: null },
    errors: [...VERSIONED, UserErrors.LAST_ADMIN],
    handle: async (call, platform) => {
      await deleteScimGroup(platform, call as ScimCall, call.params.id);
      return { status: 204 };
    },
  }),
  defineRoute({
    ...PUBLIC,
    method: 'GET',
    path: `${SCIM_PATH}/ServiceProviderConfig`,
    summary: 'Get the SCIM service provider configuration',
    responses: { 200: z.looseObject({ schemas: z.array(z.string()) }).meta({ id: 'ScimServiceProviderConfig' }) },
    handle: (_call, platform) => ({
      status: 200,
      body: serviceProviderConfig(platform),
      headers: { 'content-type': SCIM_JSON },
    }),
  }),
  defineRoute({
    ...PUBLIC,
    method: 'GET',
    path: `${SCIM_PATH}/ResourceTypes`,
    summary: 'List SCIM resource types',
    responses: { 200: ScimList },
    handle: (_call, platform) => found(resourceTypes(platform)),
  }),
  defineRoute({
    ...PUBLIC,
    method: 'GET',
    path: `${SCIM_PATH}/ResourceTypes/:id`,
    summary: 'Get a SCIM resource type',
    params: z.object({ id: z.string() }),
    responses: { 200: ScimResource },
    errors: [SCIM_RESOURCE_NOT_FOUND],
    handle: (call, platform) => one(resourceTypes(platform), call.params.id),
  }),
  defineRoute({
    ...PUBLIC,
    method: 'GET',
    path: `${SCIM_PATH}/Schemas`,
    summary: 'List SCIM schemas',
    responses: { 200: ScimList },
    handle: (_call, platform) => found(scimSchemas(platform)),
  }),
  defineRoute({
    ...PUBLIC,
    method: 'GET',
    path: `${SCIM_PATH}/Schemas/:id`,
    summary: 'Get a SCIM schema',
    params: z.object({ id: z.string() }),
    responses: { 200: ScimResource },
    errors: [SCIM_RESOURCE_NOT_FOUND],
    handle: (call, platform) => one(scimSchemas(platform), call.params.id),
  }),
];
