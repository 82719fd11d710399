import { createHash } from 'node:crypto';
import { CommonErrors } from '../../kernel/errors.ts';
import { pathOf, type Site } from '../../pages/index.ts';
import { type Projection, project } from './projection.ts';
import { type ListQuery, SCIM_JSON } from './schema.ts';

/** A resource without `meta`, which is computed from the rest. */
export type Resource = { readonly schemas: readonly string[]; readonly id: string } & Record<string, unknown>;

/** When a resource was created and changed, as ISO times. */
export interface Times {
  readonly created: string;
  readonly lastModified: string;
}

export const SCIM_PATH = '/scim/v2';

type ResourceType = 'User' | 'Group';

export const locationOf = (site: Site, resourceType: ResourceType, id: string): string =>
  new URL(pathOf(site, `${SCIM_PATH}/${resourceType}s/${id}`), site.baseUrl).href;

/** Adds `meta` (RFC 7643, section 3.1) with a version that changes whenever the resource does. */
export function withMeta(site: Site, resourceType: ResourceType, resource: Resource, times: Times): Resource {
  const location = locationOf(site, resourceType, resource.id);
  const hash = createHash('sha256')
    .update(JSON.stringify([resource, times.lastModified]))
    .digest('base64url');
  return { ...resource, meta: { resourceType, ...times, location, version: `W/"${hash.slice(0, 27)}"` } };
}

export const metaOf = (resource: Resource) => resource['meta'] as { location: string; version: string };

/**
 * Throws 412 unless If-Match is absent or names the version of the resource (RFC 7644, section 3.14). The versions are
 * weak tags, which RFC 7644 compares in If-Match too.
 */
export function assertVersion(request: Request, current: Resource): void {
  const header = request.headers.get('if-match');
  if (header !== null && !namesVersion(header, current)) throw CommonErrors.PRECONDITION_FAILED();
}

const namesVersion = (header: string, resource: Resource): boolean =>
  header.trim() === '*' ||
  header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === metaOf(resource).version.replace(/^W\//, ''));

/** Returns the answer with a resource: 304 if the caller has this version, otherwise the requested attributes. */
export function resourceAnswer(
  request: Request,
  resource: Resource,
  query: Projection,
  status = 200,
): { status: number; body?: unknown; headers: Record<string, string> } {
  const { location, version } = metaOf(resource);
  const headers = { 'content-type': SCIM_JSON, etag: version, ...(status === 201 ? { location } : {}) };
  const known = request.method === 'GET' ? request.headers.get('if-none-match') : null;
  if (known !== null && namesVersion(known, resource)) return { status: 304, headers: { etag: version } };
  return { status, body: project(resource, query), headers };
}

export const DEFAULT_COUNT = 100;
const MAX_COUNT = 200;

/** Returns the page that a list asks for. Values out of range are moved into it (RFC 7644, section 3.4.2.4). */
export const pageOf = ({ startIndex = 1, count = DEFAULT_COUNT }: ListQuery) => ({
  startIndex: Math.max(1, startIndex),
  count: Math.min(MAX_COUNT, Math.max(0, count)),
});

export const listAnswer = (resources: readonly Resource[], total: number, query: ListQuery) => ({
  status: 200,
  headers: { 'content-type': SCIM_JSON },
  body: {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: total,
    startIndex: pageOf(query).startIndex,
    itemsPerPage: resources.length,
    Resources: resources.map((resource) => project(resource, query)),
  },
});
