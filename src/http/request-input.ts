import { z } from 'zod';
import { CommonErrors, validationFailed } from '../kernel/errors.ts';
import { parseJson, parseWith } from '../kernel/json.ts';
import { isRepeated, parseQuery } from '../kernel/query.ts';
import type { Route } from '../platform/route.ts';
import type { Platform } from '../platform.ts';
import { hasMediaType, isForm, isJson } from './media-type.ts';
import type { Source } from './sources/source.ts';

/** The query of a route whose only parameter is `preview`, and the body of a request that takes none. */
const NOTHING = z.strictObject({});

/**
 * Parses the query with the schema of the route. Throws 400 for an unknown parameter, unless the route accepts none at
 * all: then the query is ignored.
 */
export function readQuery(route: Route<Platform>, source: Source<unknown>): unknown {
  const schema = route.query ?? (route.preview ? NOTHING : undefined);
  if (!schema) return undefined;
  const fields = fieldsOf(source.url.searchParams, schema instanceof z.ZodObject ? schema.shape : {});
  if (route.preview) delete fields['preview'];
  return parseQuery(schema, fields);
}

/**
 * Throws 400 for a name that is given twice, because clients and servers disagree on which value is used. A name that
 * `shape` declares as repeated has a list.
 */
function fieldsOf(params: URLSearchParams, shape: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [key, value] of params) {
    if (Object.hasOwn(shape, key) && isRepeated(shape[key])) {
      const values = fields[key];
      if (Array.isArray(values)) values.push(value);
      else fields[key] = [value];
      continue;
    }
    if (Object.hasOwn(fields, key)) throw validationFailed([{ path: key, message: 'is given more than once' }]);
    Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return fields;
}

const strict = new TextDecoder('utf-8', { fatal: true });

/** Decodes UTF-8 and removes a byte order mark (RFC 8259, section 8.1). Throws 400 for invalid UTF-8. */
export function decodeBody(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  // The fast decoder writes U+FFFD for invalid UTF-8 and keeps a byte order mark. Such texts go to the strict decoder.
  if (!text.includes('\ufffd') && text.charCodeAt(0) !== 0xfeff) return text;
  try {
    return strict.decode(bytes);
  } catch {
    throw validationFailed([{ path: '', message: 'the body is not valid UTF-8' }]);
  }
}

/**
 * Reads the body and parses it with the schema of the route. Returns a promise only if the body has not yet arrived. A
 * DELETE of our own API takes no body: throws 400 for the fields of one, which would have no effect.
 * @param onJson receives the parsed JSON before the schema is applied
 */
export function readBody(
  { config }: Pick<Platform, 'config'>,
  route: Route<Platform>,
  source: Source<unknown>,
  onJson?: (json: unknown) => void,
): unknown {
  const { body: schema } = route;
  if (!schema) return mayHaveNoFields(route) && source.hasBody ? readNothing(config, source) : undefined;
  const type = source.header('content-type');
  if (route.bodyOptional && !source.hasBody) return parseWith(schema, {});
  const form = route.form !== undefined && route.form !== false && isForm(type);
  const isKnown =
    (form || ((isJson(type) || hasMediaType(type, route.mediaType)) && route.form !== 'only')) &&
    source.header('content-encoding') === null;
  const refuse = (): never => {
    const message = wrongMediaType(route, source);
    // The error of a standard is that of an invalid request, which has issues.
    if (route.wrongMediaType) throw route.wrongMediaType({ message, details: { issues: [{ path: '', message }] } });
    throw CommonErrors.UNSUPPORTED_MEDIA_TYPE({ message });
  };
  if (!isKnown && !route.bodyOptional) refuse();
  // Some clients state a type for a body that they leave out.
  const parse = (bytes: Uint8Array): unknown =>
    isKnown ? parseBody(route, form, bytes, onJson) : bytes.length === 0 ? parseWith(schema, {}) : refuse();
  const bytes = source.body(route.bodyLimit ?? config.http.bodyLimit);
  return bytes instanceof Promise ? bytes.then(parse) : parse(bytes);
}

/** Whether the route belongs to our own API and takes no body. GET requests have none. */
export const mayHaveNoFields = ({ method, body, errorBody }: Route<Platform>): boolean =>
  method !== 'GET' && body === undefined && errorBody === undefined;

function readNothing({ http }: Platform['config'], source: Source<unknown>): undefined | Promise<undefined> {
  const parse = (bytes: Uint8Array): undefined => {
    if (bytes.length > 0) parseWith(NOTHING, parseJson(decodeBody(bytes)));
  };
  const bytes = source.body(http.bodyLimit);
  return bytes instanceof Promise ? bytes.then(parse) : parse(bytes);
}

function parseBody(
  route: Route<Platform>,
  form: boolean,
  bytes: Uint8Array,
  onJson: ((json: unknown) => void) | undefined,
): unknown {
  const schema = route.body as NonNullable<typeof route.body>;
  const text = decodeBody(bytes);
  if (form) return parseWith(schema, fieldsOf(new URLSearchParams(text)));
  const json = text === '' && route.bodyOptional ? {} : parseJson(text);
  onJson?.(json);
  return route.parseBody?.(text, json) ?? parseWith(schema, route.adaptBody?.(json) ?? json);
}

function wrongMediaType(route: Route<Platform>, source: Source<unknown>): string {
  if (source.header('content-encoding') !== null) return 'The body must not be compressed.';
  const form = 'application/x-www-form-urlencoded';
  const wanted = route.form === 'only' ? form : route.form ? `application/json or ${form}` : 'application/json';
  return `The content type must be ${wanted}.`;
}
