import { z } from 'zod';
import type { Access } from '../access/principal.ts';
import { sessionCookieName } from '../access/session-cookie.ts';
import { CommonErrors, type ErrorFactory } from '../kernel/errors.ts';
import { packageVersion } from '../kernel/version.ts';
import type { Platform } from '../platform.ts';
import type { MountedRoute } from './app.ts';
import type { Route } from './route.ts';

type Json = Record<string, unknown>;

/** Body of every error (contract 3). */
const ErrorBody = z
  .object({
    error: z.object({ code: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()).optional() }),
  })
  .meta({ id: 'Error', description: 'The code is stable; the message is for people.' });

/**
 * OpenAPI 3.1 of the mounted routes, made from their declarations. Addresses are relative to where the document is served.
 * Of `platform` only the configuration and the base URL matter: the name of the session cookie follows from them.
 */
export function describeApi(mounted: readonly MountedRoute[], platform: Pick<Platform, 'config' | 'baseUrl'>): Json {
  const components = new Components([[ErrorBody, 'output'], ...mounted.flatMap(({ route }) => schemasOf(route))]);
  const paths: Record<string, Json> = {};
  for (const { route, module, path } of mounted) {
    const template = path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}');
    (paths[template] ??= {})[route.method.toLowerCase()] = operation(route, path, module.name, components);
  }
  const tags = new Map(mounted.map(({ module }) => [module.name, module.description]));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Legate',
      version: packageVersion(),
      summary: 'Identity, authorization and audit for software agents.',
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
          name: sessionCookieName(platform.baseUrl, platform.config.service.name),
          description: 'The session of a signed-in person.',
        },
      },
      schemas: components.all(),
    },
  };
}

/** Every schema of a route, and which side of it is seen. */
function schemasOf(route: Route<Platform>): [z.ZodType, Io][] {
  const asked = [route.params, route.query, route.body].filter((schema) => schema !== undefined);
  const answered = Object.values(route.responses).filter((answer) => answer instanceof z.ZodType);
  return [
    ...asked.map((schema): [z.ZodType, Io] => [schema, 'input']),
    ...answered.map((schema): [z.ZodType, Io] => [schema, 'output']),
  ];
}

function operation(route: Route<Platform>, path: string, tag: string, components: Components): Json {
  const parameters = [
    ...parametersOf(route.params, 'path', components),
    ...parametersOf(route.query, 'query', components),
  ];
  const named = new Set(parameters.map((p) => p['name']));
  for (const [, name] of path.matchAll(/:(\w+)/g))
    if (!named.has(name)) parameters.unshift({ name, in: 'path', required: true, schema: { type: 'string' } });
  const description = [
    route.description,
    needs(route.access),
    route.staticToken ? 'It also has a Bearer token of its own.' : undefined,
  ]
    .filter(Boolean)
    .join('\n\n');
  const body = route.body ? { schema: components.of(route.body, 'input') } : undefined;
  return {
    operationId: operationId(route.method, path),
    tags: [tag],
    summary: route.summary,
    ...(description ? { description } : {}),
    security: route.access === 'public' ? [] : [{ bearer: [] }, { cookie: [] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? {
          requestBody: {
            required: !route.bodyOptional,
            content: { 'application/json': body, ...(route.form ? { 'application/x-www-form-urlencoded': body } : {}) },
          },
        }
      : {}),
    responses: { ...answers(route, components), ...errors(route) },
  };
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

/** Who may call, in words. */
function needs(who: Access): string | undefined {
  if (who === 'public') return undefined;
  if (who === 'user' || who === 'enrolling')
    return 'For people: a session, or an API token that is not narrowed to scopes.';
  if (who === 'admin') return 'For administrators.';
  const scope = who.scope ? `A narrowed API token needs the scope \`${who.scope}\`. ` : '';
  return `${scope}An agent needs a permission for \`${who.action}\` on \`${who.resource}\`${who.self ? ', except about itself' : ''}.`;
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

function answers(route: Route<Platform>, components: Components): Json {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, answer]) => {
      const description = STATUS_TEXT[status] ?? 'The answer.';
      if (answer === null) return [status, { description }];
      if (answer instanceof z.ZodType)
        return [
          status,
          {
            description,
            ...(isPaged(route) ? { headers: LINK } : {}),
            content: { 'application/json': { schema: components.of(answer, 'output') } },
          },
        ];
      return [
        status,
        {
          description,
          content: Object.fromEntries(answer.mediaTypes.map((type) => [type, { schema: { type: 'string' } }])),
        },
      ];
    }),
  );
}

const isPaged = ({ query }: Route<Platform>): boolean => query instanceof z.ZodObject && 'cursor' in query.shape;
const LINK = {
  Link: {
    description: 'With rel="next" the address of the next page, when there is one (RFC 8288).',
    schema: { type: 'string' },
  },
};

const STATUS_TEXT: Record<string, string> = { 200: 'Done.', 201: 'Made.', 204: 'Done; no body.' };

/** What the route declares, and what any route of its kind can answer. */
function errors(route: Route<Platform>): Json {
  const all: ErrorFactory[] = [...(route.errors ?? [])];
  if (route.params || route.query || route.body) all.push(CommonErrors.VALIDATION_FAILED);
  if (route.access !== 'public')
    all.push(
      CommonErrors.UNAUTHORIZED,
      CommonErrors.FORBIDDEN,
      CommonErrors.SECOND_FACTOR_REQUIRED,
      CommonErrors.STORAGE_UNAVAILABLE,
    );
  if (route.rateLimit) all.push(CommonErrors.RATE_LIMIT_EXCEEDED);
  if (route.body) all.push(CommonErrors.PAYLOAD_TOO_LARGE, CommonErrors.UNSUPPORTED_MEDIA_TYPE);
  all.push(CommonErrors.INTERNAL_ERROR);
  const byStatus = new Map<number, Map<string, string>>();
  for (const { code, status, message } of all)
    byStatus.set(status, (byStatus.get(status) ?? new Map()).set(code, message));
  const described: Json = {};
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    if (route.responses[status] !== undefined) continue;
    described[status] = {
      description: [...codes].map(([code, message]) => `\`${code}\`: ${message}`).join('\n\n'),
      ...(status === 401 && route.access !== 'public'
        ? { headers: { 'WWW-Authenticate': { schema: { type: 'string' } } } }
        : {}),
      content: {
        'application/json': {
          schema: {
            allOf: [
              { $ref: '#/components/schemas/Error' },
              {
                type: 'object',
                properties: { error: { type: 'object', properties: { code: { enum: [...codes.keys()] } } } },
              },
            ],
          },
        },
      },
    };
  }
  return described;
}

type Io = 'input' | 'output';

/** Schemas with a `meta({ id })` become components, once each. One that differs between requests and answers has `Input` behind its name in requests. */
class Components {
  readonly #found: Record<Io, Map<string, Json>> = { input: new Map(), output: new Map() };
  readonly #differing = new Set<string>();

  constructor(schemas: readonly (readonly [schema: z.ZodType, io: Io])[]) {
    for (const [schema, io] of schemas)
      for (const [id, definition] of Object.entries(toJsonSchema(schema, io).$defs ?? {}))
        this.#found[io].set(id, definition);
    const { input, output } = this.#found;
    for (const [id, definition] of input)
      if (output.has(id) && JSON.stringify(output.get(id)) !== JSON.stringify(definition)) this.#differing.add(id);
    // What refers to one that differs, differs.
    for (let before = -1; before !== this.#differing.size; ) {
      before = this.#differing.size;
      for (const [id, definition] of input)
        if (
          output.has(id) &&
          [...this.#differing].some((other) => JSON.stringify(definition).includes(`"#/$defs/${other}"`))
        )
          this.#differing.add(id);
    }
  }

  /** Every component, by its name. */
  all(): Record<string, Json> {
    const both = (['output', 'input'] as const).flatMap((io) =>
      [...this.#found[io]].map(([id, definition]) => [this.#name(id, io), this.#withRefs(definition, io)] as const),
    );
    return Object.fromEntries(both.sort(([a], [b]) => (a < b ? -1 : 1))) as Record<string, Json>;
  }

  /** One schema, with references to components in it. */
  of(schema: z.ZodType, io: Io): Json {
    const { $schema: _, $defs: __, ...rest } = toJsonSchema(schema, io);
    return this.#withRefs(rest, io) as Json;
  }

  #name(id: string, io: Io): string {
    return io === 'input' && this.#differing.has(id) ? `${id}Input` : id;
  }

  #withRefs(value: unknown, io: Io): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#withRefs(item, io));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) =>
        key === '$ref' && typeof item === 'string'
          ? [key, `#/components/schemas/${this.#name(item.replace('#/$defs/', ''), io)}`]
          : [key, this.#withRefs(item, io)],
      ),
    );
  }
}

const toJsonSchema = (schema: z.ZodType, io: Io): Json & { $defs?: Record<string, Json> } =>
  z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      // What we answer may gain fields; only what is declared strict is closed.
      if (def.type === 'object' && (def as { catchall?: unknown }).catchall === undefined)
        delete jsonSchema.additionalProperties;
      delete jsonSchema.id;
    },
  }) as Json;
