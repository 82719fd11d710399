import { z } from 'zod';
import type { Access } from '../access/principal.ts';
import { sessionCookieName } from '../access/session-cookie.ts';
import { packageVersion } from '../kernel/version.ts';
import type { Route } from '../platform/route.ts';
import { comparesVersion, takesIfNoneMatch } from '../platform/version.ts';
import type { Platform } from '../platform.ts';
import type { MountedRoute } from './app.ts';
import { MAX_KEY_CHARS, takesIdempotencyKey } from './idempotency/request-key.ts';
import { answers, ErrorBody, errors, responsesOf } from './openapi-answers.ts';
import { Components, type Io, type Json } from './openapi-components.ts';

/** Example bodies by declared `METHOD /path`. */
export type Examples = Readonly<Record<string, unknown>>;

/**
 * Returns the routes for the API description: without pages for people, and only the first of several paths with the
 * same handler.
 */
export function describedRoutes(mounted: readonly MountedRoute[]): MountedRoute[] {
  const seen = new Set<unknown>();
  return mounted.filter(({ route }) => {
    const { handle, page, responses } = route;
    const answers = Object.values(responses);
    const forBrowsers =
      page || answers.some((answer) => answer && 'mediaTypes' in answer && answer.mediaTypes.some(isPageFile));
    const asJson = answers.some((answer) => answer instanceof z.ZodType);
    if ((forBrowsers && !asJson) || seen.has(handle)) return false;
    seen.add(handle);
    return true;
  });
}

/**
 * Returns the OpenAPI 3.1 document of the mounted routes. URLs are relative to the document. `platform` is needed for
 * the name of the session cookie.
 */
export function describeApi(
  mounted: readonly MountedRoute[],
  { baseUrl, config }: Pick<Platform, 'config' | 'baseUrl'>,
  examples: Examples = {},
): Json {
  const components = new Components([[ErrorBody, 'output'], ...mounted.flatMap(({ route }) => schemasOf(route))]);
  const paths: Record<string, Json> = {};
  for (const { route, module, path } of mounted) {
    const template = path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}');
    (paths[template] ??= {})[route.method.toLowerCase()] = operation(route, module.name, components, examples);
  }
  const tags = new Map(mounted.map(({ module }) => [module.name, module.description]));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Legate',
      version: packageVersion(),
      summary: 'Identity, authorization and audit for software agents.',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [...tags].map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An agent token (lgt_), an API token (lgk_) or a session token (lgs_).',
        },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: sessionCookieName(baseUrl, config.service.name),
          description: 'The session of a signed-in person.',
        },
        client: {
          type: 'http',
          scheme: 'basic',
          description: 'client_id and client_secret of an OAuth client, form-encoded (RFC 6749, section 2.3.1).',
        },
      },
      schemas: components.all(),
    },
  };
}

const DESCRIPTION = `Agents have an identity and permissions. \`POST /authorize\` decides what an agent may do and
records the decision before it answers.

**Credentials.** Send an agent token (\`lgt_\`), an API token (\`lgk_\`), a session token (\`lgs_\`) or an OAuth access
token as \`Authorization: Bearer\`. Browsers may use the session cookie instead.

**Errors.** Every error has the body \`{"error": {"code", "message", "details"}}\`; the code is stable. OAuth endpoints
use the format of RFC 6749. What you may not see is 404, as if it did not exist.

**Lists** have \`limit\` and \`cursor\`. A \`Link\` header with \`rel="next"\` points to the next page. A filter that is
given several times means any of its values. Times are ISO 8601 in UTC.

**Lost updates.** Send the ETag of a resource as \`If-Match\` with a change. If somebody else has changed the resource
meanwhile, the answer is 412. With \`If-None-Match: *\`, a PUT creates a resource and never replaces one.

**Retries.** A POST with an \`Idempotency-Key\` may be repeated: it has one effect, and the same answer for 24 hours.

**Requests** have an id, \`X-Request-ID\`, which you may choose. The log of the service has the same id.`;

const PREVIEW_PARAMETER: Json = {
  name: 'preview',
  in: 'query',
  description: 'With `true`, answers with what the request would do (`Preview`) and changes nothing.',
  required: false,
  schema: { type: 'boolean' },
};

const IDEMPOTENCY_KEY_PARAMETER: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Chosen by the client, a new one for each request. A repetition within 24 hours has one effect and the same ' +
    'answer, with `Idempotent-Replayed: true`.',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: MAX_KEY_CHARS },
};

const isPageFile = (mediaType: string): boolean => /^text\/(html|css|javascript)$/.test(mediaType);

/** Returns the schemas of a route, each as input or output. */
export function schemasOf(route: Route<Platform>): [z.ZodType, Io][] {
  const asked = [route.params, route.query, route.body].filter((schema) => schema !== undefined);
  const answered = Object.values(responsesOf(route)).flatMap((answer) =>
    answer instanceof z.ZodType ? [answer] : answer?.json ? [answer.json] : [],
  );
  return [
    ...asked.map((schema): [z.ZodType, Io] => [schema, 'input']),
    ...answered.map((schema): [z.ZodType, Io] => [schema, 'output']),
  ];
}

function operation(route: Route<Platform>, tag: string, components: Components, examples: Examples): Json {
  const { path } = route;
  const parameters = [
    ...parametersOf(route.params, 'path', components),
    ...parametersOf(route.query, 'query', components),
    ...(takesIdempotencyKey(route) ? [IDEMPOTENCY_KEY_PARAMETER] : []),
    ...(route.preview ? [PREVIEW_PARAMETER] : []),
  ];
  if (comparesVersion(route)) parameters.push(IF_MATCH);
  if (takesIfNoneMatch(route)) parameters.push(IF_NONE_MATCH);
  const named = new Set(parameters.map((p) => p['name']));
  for (const [, name] of path.matchAll(/:(\w+)/g))
    if (!named.has(name)) parameters.unshift({ name, in: 'path', required: true, schema: { type: 'string' } });
  const description = [
    [route.description, route.longPages && 'A page of more than 8 MB ends early.'].filter(Boolean).join(' '),
    needs(route.access),
    route.staticToken ? 'It also has a Bearer token of its own.' : undefined,
  ]
    .filter(Boolean)
    .join('\n\n');
  const example = examples[`${route.method} ${path}`];
  const body = route.body
    ? { schema: components.of(route.body, 'input'), ...(example === undefined ? {} : { example }) }
    : undefined;
  return {
    operationId: operationId(route.method, path),
    tags: [tag],
    summary: route.summary,
    ...(description ? { description } : {}),
    security: security(route),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? {
          requestBody: {
            required: !route.bodyOptional,
            content: {
              ...(route.form === 'only' ? {} : { 'application/json': body }),
              ...(route.mediaType ? { [route.mediaType]: body } : {}),
              ...(route.form ? { 'application/x-www-form-urlencoded': body } : {}),
            },
          },
        }
      : {}),
    responses: { ...answers(route, components), ...errors(route) },
  };
}

const IF_MATCH: Json = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'The ETag that was read, or several: 412 if the resource has changed since.',
  schema: { type: 'string' },
};

const IF_NONE_MATCH: Json = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'With `*`, 412 if the resource exists already.',
  schema: { type: 'string', const: '*' },
};

function security({ access, checksItself }: Route<Platform>): Json[] {
  if (access !== 'public') return [{ bearer: [] }, { cookie: [] }];
  return (checksItself ?? []).map((scheme) => (scheme === 'none' ? {} : { [scheme]: [] }));
}

/** `GET /agents/:id/permissions` -> `getAgentsByIdPermissions`. */
function operationId(method: string, path: string): string {
  const words = path
    .replace(/\{[^}]*\}/g, '')
    .split(/[/_.-]/)
    .filter((word) => word !== '');
  return (
    method.toLowerCase() +
    words.map((word) => (word.startsWith(':') ? `By${capital(word.slice(1))}` : capital(word))).join('')
  );
}
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** Describes who may call. */
function needs(who: Access): string | undefined {
  if (who === 'public') return undefined;
  if (who === 'user' || who === 'enrolling')
    return 'For people: a session, or an API token that is not narrowed to scopes.';
  if (who === 'admin') return 'For administrators.';
  if (who === 'scim') return 'For administrators. A narrowed API token needs the scope `scim`.';
  const scopes = who.scope === undefined ? [] : [who.scope].flat();
  const needs = scopes.length > 1 ? 'one of the scopes' : 'the scope';
  const scope =
    scopes.length > 0 ? `A narrowed API token needs ${needs} ${scopes.map((s) => `\`${s}\``).join(', ')}. ` : '';
  const except = who.self ? ', except about itself' : '';
  return `${scope}An agent needs a permission for \`${who.action}\` on \`${who.resource}\`${except}.`;
}

function parametersOf(schema: z.ZodType | undefined, place: 'path' | 'query', components: Components): Json[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = components.of(schema, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    ...(description === undefined ? {} : { description }),
    required: place === 'path' || required.includes(name),
    schema: rest,
  }));
}
