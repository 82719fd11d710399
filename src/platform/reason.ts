import { z } from 'zod';
import { text } from '../kernel/json.ts';
import type { RouteDeclaration } from './route.ts';

const MAX_REASON_CHARS = 500;

export const ReasonText = text(MAX_REASON_CHARS);

const fields = {
  reason: ReasonText.optional().meta({
    description: 'Why, in your own words. Kept with the change, as `actor.reason` of its event.',
  }),
};
const REASON_ONLY = z.strictObject(fields);

type AnyRoute = RouteDeclaration<never, z.ZodType, z.ZodType, z.ZodType>;

/** Requests that change something for a caller whom the pipeline authenticates. Forms of pages and OAuth have none. */
export const takesReason = ({ method, access, effect, page, form }: AnyRoute): boolean =>
  method !== 'GET' && access !== 'public' && effect !== 'none' && !page && form === undefined;

/**
 * Adds `reason` to the declaration of a route that changes something (contract 17.2): to its body, or to its query with
 * DELETE. The pipeline removes it again, so that handlers find it only in `call.actor`.
 */
export function withReason<Route extends AnyRoute>(route: Route): Route {
  if (!takesReason(route)) return route;
  if (route.method === 'DELETE') return { ...route, query: extended(route, route.query) };
  return { ...route, body: extended(route, route.body), bodyOptional: route.bodyOptional ?? route.body === undefined };
}

/** Routes may share a schema. */
const known = new WeakMap<z.ZodType, z.ZodType>();

function extended({ method, path }: AnyRoute, schema: z.ZodType | undefined): z.ZodType {
  if (schema === undefined) return REASON_ONLY;
  if (!(schema instanceof z.ZodObject)) throw new Error(`${method} ${path} has an input that cannot take a reason.`);
  let whole = known.get(schema);
  if (!whole) {
    const meta = schema.meta() ?? {};
    // In the API description the extended schema has the name, which only one schema may have.
    if (meta.id !== undefined) z.globalRegistry.remove(schema);
    whole = schema.safeExtend(fields).meta(meta);
    known.set(schema, whole);
  }
  return whole;
}

/** Splits an input into the reason and what the handler gets. */
export function splitReason(input: unknown): { readonly reason?: string; readonly rest: unknown } {
  if (typeof input !== 'object' || input === null || !('reason' in input)) return { rest: input };
  const { reason, ...rest } = input as { reason?: string };
  return { rest, ...(reason === undefined ? {} : { reason }) };
}
