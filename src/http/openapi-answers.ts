import { z } from 'zod';
import { CommonErrors, type ErrorFactory } from '../kernel/errors.ts';
import { Preview } from '../platform/preview-schema.ts';
import type { Route } from '../platform/route.ts';
import { comparesVersion, showsVersion } from '../platform/version.ts';
import type { Platform } from '../platform.ts';
import { IdempotencyErrors } from './idempotency/errors.ts';
import { takesIdempotencyKey } from './idempotency/request-key.ts';
import { textOfAnswer } from './openapi-answer-texts.ts';
import type { Components, Json } from './openapi-components.ts';
import { refusesPreview } from './preview/preview.ts';
import { mayHaveNoFields } from './request-input.ts';

/** Body of every error (contract 3). */
export const ErrorBody = z
  .object({
    error: z.object({ code: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()).optional() }),
  })
  .meta({ id: 'Error', description: 'The code is stable; the message is for people.' });

const TEXT = { type: 'string' } as const;

export function answers(route: Route<Platform>, components: Components): Json {
  return Object.fromEntries(
    Object.entries(responsesOf(route)).map(([status, answer]) => {
      const description = textOfAnswer(route, status, answer, isPaged(route));
      if (answer === null) return [status, { description }];
      if (answer instanceof z.ZodType)
        return [
          status,
          {
            description,
            ...headersOf(route, status),
            content: {
              [route.mediaType ?? 'application/json']: { schema: components.of(answer, 'output') },
              // Forms of pages are answered with pages.
              ...(route.form && route.form !== 'only' ? { 'text/html': { schema: TEXT } } : {}),
            },
          },
        ];
      return [
        status,
        {
          description,
          content: Object.fromEntries(
            answer.mediaTypes.map((type) => [
              type,
              { schema: type === 'application/json' && answer.json ? components.of(answer.json, 'output') : TEXT },
            ]),
          ),
        },
      ];
    }),
  );
}

/** A preview is an answer of its own. */
export const responsesOf = ({ responses, preview }: Route<Platform>): Route<Platform>['responses'] => {
  if (!preview) return responses;
  const done = responses[200];
  return { ...responses, 200: done instanceof z.ZodType ? z.union([Preview, done]) : Preview };
};

export const isPaged = ({ query }: Route<Platform>): boolean => query instanceof z.ZodObject && 'cursor' in query.shape;
const headersOf = (route: Route<Platform>, status: string): Json => {
  const headers = {
    ...(isPaged(route) ? LINK : {}),
    ...(route.total ? TOTAL : {}),
    ...(showsVersion(route, Number(status)) ? ETAG : {}),
    ...headersOfErrors(Number(status)),
  };
  return inAnswer(headers);
};

const inAnswer = (headers: Json): Json => (Object.keys(headers).length > 0 ? { headers } : {});

const TOTAL = {
  'Legate-Total-Count': { description: 'Rows on all pages.', schema: { type: 'integer' } },
};
const ETAG = {
  ETag: {
    description: 'Version of the resource, for If-Match (RFC 9110). Counters of use do not change it.',
    schema: { type: 'string' },
  },
};
const LINK = {
  Link: {
    description: 'With rel="next" the address of the next page, when there is one (RFC 8288).',
    schema: { type: 'string' },
  },
};

/** Returns the errors that the route declares and those of every route of its kind. */
export function errors(route: Route<Platform>): Json {
  const all: ErrorFactory[] = [...(route.errors ?? [])];
  if (route.params || route.query || route.body || refusesPreview(route)) all.push(CommonErrors.VALIDATION_FAILED);
  if (route.access !== 'public' || route.checksItself || route.page)
    all.push(CommonErrors.UNAUTHORIZED, CommonErrors.FORBIDDEN, CommonErrors.SECOND_FACTOR_REQUIRED);
  if (comparesVersion(route)) all.push(CommonErrors.PRECONDITION_FAILED);
  if (route.preview)
    all.push(CommonErrors.RATE_LIMIT_EXCEEDED, CommonErrors.PREVIEW_TIMED_OUT, CommonErrors.VALIDATION_FAILED);
  if (takesIdempotencyKey(route)) all.push(...Object.values(IdempotencyErrors), CommonErrors.VALIDATION_FAILED);
  if (route.rateLimit) all.push(CommonErrors.RATE_LIMIT_EXCEEDED);
  // Another value is an address that does not exist, which is a page for a browser.
  const hasPattern = PATTERN_IN_PATH.test(route.path);
  if (hasPattern) all.push(CommonErrors.NOT_FOUND);
  if (mayHaveNoFields(route)) all.push(CommonErrors.PAYLOAD_TOO_LARGE, CommonErrors.VALIDATION_FAILED);
  if (route.body) all.push(CommonErrors.PAYLOAD_TOO_LARGE, route.wrongMediaType ?? CommonErrors.UNSUPPORTED_MEDIA_TYPE);
  all.push(CommonErrors.INTERNAL_ERROR);
  if (!all.includes(CommonErrors.AUDIT_UNAVAILABLE)) all.push(CommonErrors.STORAGE_UNAVAILABLE);
  const byStatus = new Map<number, Map<string, ErrorFactory>>();
  for (const error of all) byStatus.set(error.status, (byStatus.get(error.status) ?? new Map()).set(error.code, error));
  const described: Json = {};
  for (const [status, byCode] of [...byStatus].sort(([a], [b]) => a - b)) {
    const factories = [...byCode.values()];
    const own = route.responses[status];
    // Pages answer programs with JSON.
    if (own !== undefined && !(own && 'mediaTypes' in own)) continue;
    described[status] = {
      description: factories.map((error) => `\`${nameOf(route, error)}\`: ${error.message}`).join('\n\n'),
      ...inAnswer(headersOfErrors(status)),
      content: {
        [errorType(route, status)]: { schema: bodyOf(route, status, factories) },
        ...(route.form || route.page || own || (hasPattern && status === CommonErrors.NOT_FOUND.status)
          ? { 'text/html': { schema: TEXT } }
          : {}),
        ...Object.fromEntries((own?.mediaTypes ?? []).map((type) => [type, { schema: TEXT }])),
      },
    };
  }
  return described;
}

const PATTERN_IN_PATH = /:\w+\{(?!\.\+\})/;

/** Headers of errors that clients act on. */
const headersOfErrors = (status: number): Json =>
  Object.fromEntries(
    (HEADERS_OF_ERRORS[status] ?? []).map(([name, description]) => [name, { description, schema: TEXT }]),
  );
const CHALLENGE = ['WWW-Authenticate', 'The challenge, where there is one (RFC 9110, section 11.6.1).'] as const;
const WAIT = ['Retry-After', 'Seconds to wait, where waiting helps.'] as const;
const HEADERS_OF_ERRORS: Readonly<Record<number, readonly (readonly [name: string, description: string])[]>> = {
  401: [CHALLENGE],
  403: [CHALLENGE],
  409: [WAIT],
  429: [
    WAIT,
    ['RateLimit', 'What is left of the limit (draft-ietf-httpapi-ratelimit-headers).'],
    ['RateLimit-Policy', 'The limit and its window.'],
  ],
  503: [WAIT],
};

/** Refusals by a rate limit are plain JSON, also where a standard has its own media type. */
const errorType = (route: Route<Platform>, status: number): string =>
  status === CommonErrors.RATE_LIMIT_EXCEEDED.status ? 'application/json' : (route.mediaType ?? 'application/json');

/** Refusals by a rate limit have the standard format, even if the route has its own error format. */
const standardForm = (route: Route<Platform>, status: number): Route<Platform>['errorBody'] =>
  status === CommonErrors.RATE_LIMIT_EXCEEDED.status ? undefined : route.errorBody;

const nameOf = (route: Route<Platform>, error: ErrorFactory): string => {
  const body = standardForm(route, error.status)?.(error()) as { error?: unknown } | undefined;
  return String(body?.error ?? error.code);
};

function bodyOf(route: Route<Platform>, status: number, factories: readonly ErrorFactory[]): Json {
  const names = [...new Set(factories.map((error) => nameOf(route, error)))];
  const standard = standardForm(route, status);
  if (!standard)
    return {
      allOf: [
        { $ref: '#/components/schemas/Error' },
        {
          type: 'object',
          properties: { error: { type: 'object', properties: { code: { enum: names } } } },
        },
      ],
    };
  const bodies = factories.map((error) => standard(error()) as Record<string, string | string[]>);
  const fields = [...new Set(bodies.flatMap(Object.keys))];
  return {
    type: 'object',
    properties: Object.fromEntries(
      fields.map((field) => {
        const values = [...new Set(bodies.flatMap((body) => body[field] ?? []))];
        const schema = { type: 'string', ...(TEXTS_FOR_PEOPLE.has(field) ? {} : { enum: values }) };
        return [field, bodies.some((body) => Array.isArray(body[field])) ? { type: 'array', items: schema } : schema];
      }),
    ),
    required: fields.filter((field) => bodies.every((body) => field in body)),
    additionalProperties: false,
  };
}

/** Fields of errors of standards whose text depends on the case. */
const TEXTS_FOR_PEOPLE: ReadonlySet<string> = new Set(['error_description', 'detail']);
