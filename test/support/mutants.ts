import { z } from 'zod';

interface Schema {
  type?: string | string[];
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: unknown;
  items?: Schema;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  $ref?: string;
  $defs?: Record<string, Schema>;
}

/** A value that the schema must refuse, and the path that the error must name. */
export interface Mutant {
  readonly what: string;
  readonly value: unknown;
  readonly names: string;
}

const STRANGE: Readonly<Record<string, unknown>> = {
  string: 'strange',
  integer: 7,
  number: 1.5,
  boolean: true,
  null: null,
  array: [],
  object: {},
};
const KEYS = ['unknownField', 'constructor', 'prototype', 'toString', '__proto__', 'Name', ''] as const;

/** Returns the JSON schema of the input. */
export function inputSchema(schema: z.ZodType): Schema {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;
  const resolve = ({ $ref, ...s }: Schema): Schema =>
    $ref ? resolve({ ...root.$defs?.[$ref.replace('#/$defs/', '')], ...s }) : s;
  const inline = (s: Schema): Schema => {
    const at = resolve(s);
    return {
      ...at,
      ...(at.properties
        ? { properties: Object.fromEntries(Object.entries(at.properties).map(([k, v]) => [k, inline(v)])) }
        : {}),
      ...(at.items ? { items: inline(at.items) } : {}),
      ...(at.anyOf ? { anyOf: at.anyOf.map(inline) } : {}),
    };
  };
  return inline(root);
}

/**
 * Yields every value with one mistake in `sample`, which must have every field of the schema. Throws if it does not.
 */
export function* mutants(schema: Schema, sample: unknown): Generator<Mutant> {
  for (const { at, path, value } of places(schema, sample, [])) {
    const names = path.join('.');
    const put = (what: string, bad: unknown, where = names): Mutant => ({
      what: `${names || 'body'}: ${what}`,
      value: replaced(sample, path, bad),
      names: where,
    });
    const allowed = typesOf(at);
    if (allowed)
      for (const [type, bad] of Object.entries(STRANGE))
        if (!fits(type, allowed)) yield put(`${type} ${JSON.stringify(bad)}`, bad);
    for (const part of at.anyOf ?? [at]) {
      if (part.maxLength !== undefined) yield put('too long', 'x'.repeat(part.maxLength + 1));
      if (part.minLength) yield put('too short', 'x'.repeat(part.minLength - 1));
      if (
        part.type === 'string' &&
        at.enum === undefined &&
        /name|resource|action|note|Id|Agent|agent/.test(String(path.findLast((p) => typeof p === 'string')))
      ) {
        yield put('NUL', 'a\u0000b');
        yield put('an unpaired surrogate', 'a\ud800b');
      }
      if (at.enum) yield put('not of the list', 'Active');
      if (part.minimum !== undefined && part.minimum > Number.MIN_SAFE_INTEGER)
        yield put('too small', part.minimum - 1);
      if (part.maximum !== undefined && part.maximum < Number.MAX_SAFE_INTEGER)
        yield put('too large', part.maximum * 2 + 1);
      if (part.maxItems !== undefined) yield put('too many', Array(part.maxItems + 1).fill((value as unknown[])[0]));
      if (part.minItems) yield put('too few', []);
    }
    if (at.properties) {
      for (const field of at.required ?? [])
        yield put(`without ${field}`, without(value, field), [...path, field].join('.'));
      if (at.additionalProperties === false)
        for (const key of KEYS)
          yield put(`with ${key || 'an empty key'}`, withKey(value, key), [...path, key].join('.'));
    }
  }
}

/** Yields every path of the schema with the value of the sample. */
function* places(
  at: Schema,
  value: unknown,
  path: (string | number)[],
): Generator<{ at: Schema; path: (string | number)[]; value: unknown }> {
  if (value === undefined) throw new Error(`The sample says nothing for ${path.join('.')}.`);
  yield { at, path, value };
  const node = at.anyOf?.find((s) => s.properties ?? s.items) ?? at;
  if (node.items && Array.isArray(value)) yield* places(node.items, value[0], [...path, 0]);
  for (const [key, field] of Object.entries(node.properties ?? {}))
    yield* places(field, (value as Record<string, unknown>)[key], [...path, key]);
}

function typesOf(at: Schema): Set<string> | undefined {
  const parts = at.anyOf ?? [at];
  const types = parts.flatMap((s) => s.type ?? (s.enum ? s.enum.map((v) => typeof v) : []));
  return types.length === 0 || parts.some((s) => s.type === undefined && s.enum === undefined)
    ? undefined
    : new Set(types);
}

const fits = (type: string, allowed: Set<string>): boolean =>
  allowed.has(type) || (type === 'integer' && allowed.has('number'));

function replaced(root: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  const copy = structuredClone(root) as Record<string | number, unknown>;
  copy[first] = replaced(copy[first], rest, value);
  return copy;
}

function without(value: unknown, field: string): unknown {
  const copy = structuredClone(value) as Record<string, unknown>;
  delete copy[field];
  return copy;
}

/** Adds the key as an own member, even `__proto__`, as JSON.parse does. */
function withKey(value: unknown, key: string): unknown {
  const copy = structuredClone(value) as object;
  Object.defineProperty(copy, key, { value: { polluted: true }, enumerable: true });
  return copy;
}
