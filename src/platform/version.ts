import type { z } from 'zod';
import type { RouteDeclaration } from './route.ts';

type Versioned = Pick<RouteDeclaration<never, z.ZodType, z.ZodType, z.ZodType>, 'method' | 'versioned' | 'responses'>;

const creates = ({ method, responses }: Versioned): boolean => method === 'POST' && 201 in responses;

/** Whether the route changes a resource with a version, so that a request may carry If-Match (contract 17.10). */
export const comparesVersion = (route: Versioned): boolean =>
  route.versioned === true && route.method !== 'GET' && !creates(route);

/** A PUT may create its resource, so a request may require that there is none yet. */
export const takesIfNoneMatch = (route: Versioned): boolean => comparesVersion(route) && route.method === 'PUT';

/** Whether an answer with this status shows the resource, so that it carries an ETag. A deleted one has no version. */
export const showsVersion = (route: Versioned, status: number): boolean =>
  route.versioned === true && route.method !== 'DELETE' && status === (creates(route) ? 201 : 200);
