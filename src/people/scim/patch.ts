import { z } from 'zod';
import { ScimErrors } from './errors.ts';
import { attributeName, type Filter, matches, parseFilter } from './filter.ts';
import { spellingOf } from './spelling.ts';

const MAX_OPERATIONS = 100;

/** RFC 7644, section 3.5.2. Names of operations are compared without case, since Entra ID capitalises them. */
export const PatchRequest = z
  .looseObject({
    schemas: z.array(z.string().max(200)).max(10).optional(),
    Operations: z
      .array(
        z.object({
          op: z
            .string()
            .max(20)
            .transform((op) => op.toLowerCase())
            .pipe(z.enum(['add', 'remove', 'replace'])),
          path: z.string().max(2000).optional(),
          value: z.unknown().optional(),
        }),
      )
      .min(1)
      .max(MAX_OPERATIONS),
  })
  .meta({ id: 'ScimPatchRequest' });
type Operation = z.output<typeof PatchRequest>['Operations'][number];

type Document = Record<string, unknown>;

/** `emails[type eq "work"].value`: an attribute, a filter of its values, and a sub-attribute. */
interface Path {
  readonly attribute: string;
  readonly filter: Filter | undefined;
  readonly sub: string | undefined;
}

/** What a kind of resource accepts in patches; names are in lower case. */
export interface Patchable {
  /** The spelling of each attribute that is stored, by its name in lower case. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The sub-attributes that RFC 7643 defines for a stored attribute. Those that are not stored are ignored. */
  readonly subAttributes: Readonly<Record<string, ReadonlySet<string>>>;
  readonly multiValued: ReadonlySet<string>;
  readonly readOnly: ReadonlySet<string>;
  /** Attributes that every resource has, so that a patch can replace but not remove them. */
  readonly required: ReadonlySet<string>;
  /** Returns whether RFC 7643 defines the attribute. Those that are not stored are ignored. */
  readonly isKnown: (attribute: string) => boolean;
}

/** RFC 7643, section 2.4. */
export const OF_VALUES: ReadonlySet<string> = new Set(['type', 'primary', 'display', 'value', '$ref']);

/**
 * Applies the operations in order to a copy of a resource. Throws SCIM_INVALID_PATH, _NO_TARGET, _MUTABILITY, _VALUE.
 */
export function applyPatch(resource: Document, operations: readonly Operation[], to: Patchable): Document {
  const document = structuredClone(resource);
  for (const operation of operations) applyOne(document, operation, to);
  return document;
}

function applyOne(document: Document, { op, path, value }: Operation, to: Patchable): void {
  if (path === undefined) {
    if (op === 'remove') throw ScimErrors.SCIM_NO_TARGET({ message: 'remove needs a path.' });
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw ScimErrors.SCIM_INVALID_VALUE({ message: 'Without a path, value must be an object of attributes.' });
    for (const [name, member] of Object.entries(value)) {
      // Extensions are ignored here as in a whole resource.
      if (EXTENSION.test(name)) continue;
      const target = parsePath(name);
      // Values without a path may repeat read-only attributes, such as the id (RFC 7644, section 3.5.2).
      if (!to.readOnly.has(target.attribute)) applyAt(document, op, target, member, to);
    }
    return;
  }
  const target = parsePath(path);
  if (to.readOnly.has(target.attribute))
    throw ScimErrors.SCIM_MUTABILITY({ message: `${target.attribute} is read-only.` });
  applyAt(document, op, target, value, to);
}

/** A name that begins with the URN of a schema other than the core schemas. */
const EXTENSION = /^urn:(?!ietf:params:scim:schemas:core:2\.0:(user|group)(:|$))/i;
const SCHEMA_URN = /^(urn:ietf:params:scim:schemas:(core|extension:enterprise):2\.0:(?:user|group))(?::(.+))?$/is;
const PATH = /^([A-Za-z$][\w$-]*)(\[.*\])?(?:\.([A-Za-z$][\w$-]*))?$/s;

function parsePath(text: string): Path {
  const [, schema, kind, rest] = SCHEMA_URN.exec(text.trim()) ?? [];
  if (schema !== undefined)
    return kind?.toLowerCase() === 'core' && rest !== undefined
      ? parsePath(rest)
      : { attribute: schema.toLowerCase(), filter: undefined, sub: undefined };
  const [match, attribute = '', brackets, sub] = PATH.exec(text.trim()) ?? [];
  if (match === undefined)
    throw ScimErrors.SCIM_INVALID_PATH({ message: `The path ${text.slice(0, 100)} is not valid.` });
  return {
    attribute: attributeName(attribute),
    filter: brackets === undefined ? undefined : parseFilter(brackets.slice(1, -1)),
    sub: sub === undefined ? undefined : spellingOf(sub),
  };
}

function applyAt(document: Document, op: Operation['op'], path: Path, value: unknown, to: Patchable): void {
  const name = Object.hasOwn(to.attributes, path.attribute) ? to.attributes[path.attribute] : undefined;
  if (name === undefined) {
    if (to.isKnown(path.attribute)) return;
    throw ScimErrors.SCIM_INVALID_PATH({ message: `There is no attribute ${path.attribute.slice(0, 100)}.` });
  }
  if (path.sub !== undefined && !to.subAttributes[path.attribute]?.has(path.sub.toLowerCase()))
    throw ScimErrors.SCIM_INVALID_PATH({ message: `There is no attribute ${name}.${path.sub.slice(0, 100)}.` });
  if (op !== 'remove' && value === undefined)
    throw ScimErrors.SCIM_INVALID_VALUE({ message: `${op} needs a value for ${name}.` });
  if (to.multiValued.has(path.attribute)) applyToValues(document, op, name, path, value);
  else if (path.filter !== undefined)
    throw ScimErrors.SCIM_INVALID_PATH({ message: `${name} has one value, so it cannot be filtered.` });
  else if (path.sub !== undefined) {
    const parent = { ...(document[name] as Document | undefined) };
    setOrDelete(parent, path.sub, op === 'remove' ? undefined : value);
    document[name] = parent;
  } else if (isDocument(value) && isDocument(document[name]) && op !== 'remove')
    document[name] = { ...(document[name] as Document), ...value };
  else {
    // RFC 7644, section 3.5.2.2. null is the same as no value (RFC 7643, section 2.5).
    if (to.required.has(path.attribute) && (op === 'remove' || value === null))
      throw ScimErrors.SCIM_MUTABILITY({ message: `${name} is required.` });
    setOrDelete(document, name, op === 'remove' ? undefined : value);
  }
}

const isDocument = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function setOrDelete(document: Document, name: string, value: unknown): void {
  const known = Object.keys(document).find((key) => key.toLowerCase() === name.toLowerCase()) ?? name;
  if (value === undefined || value === null) delete document[known];
  else Object.defineProperty(document, known, { value, enumerable: true, configurable: true, writable: true });
}

function applyToValues(document: Document, op: Operation['op'], name: string, path: Path, value: unknown): void {
  const { filter, sub } = path;
  const values = (document[name] as unknown[] | undefined) ?? [];
  const given = value === undefined ? [] : Array.isArray(value) ? value : [value];
  if (filter !== undefined) {
    const selected = values.filter((item) => matches(filter, item));
    if (op === 'remove') {
      if (sub === undefined) document[name] = values.filter((item) => !matches(filter, item));
      else for (const item of selected) setOrDelete(asDocument(item, name), sub, undefined);
      return;
    }
    if (selected.length === 0) {
      // Entra ID adds `emails[type eq "work"].value` when there is no such value yet.
      if (op === 'replace' || sub === undefined || filter.kind !== 'compare' || filter.op !== 'eq')
        throw ScimErrors.SCIM_NO_TARGET({ message: `No value of ${name} matches the filter.` });
      document[name] = [...values, { [filter.path]: filter.value, [sub]: value }];
      return;
    }
    for (const item of selected) {
      if (sub !== undefined) setOrDelete(asDocument(item, name), sub, value);
      else if (isDocument(value)) Object.assign(asDocument(item, name), value);
      else throw ScimErrors.SCIM_INVALID_VALUE({ message: `A value of ${name} must be an object.` });
    }
    return;
  }
  if (sub !== undefined) {
    for (const item of values) setOrDelete(asDocument(item, name), sub, op === 'remove' ? undefined : value);
    return;
  }
  if (op === 'replace') document[name] = given;
  // Entra ID removes members by a value instead of a filter.
  else if (op === 'remove') document[name] = given.length === 0 ? [] : without(values, given);
  else {
    // At most one value is primary: the last one that is marked so (RFC 7644, section 3.5.2).
    if (given.some((item) => isDocument(item) && item['primary'] === true))
      for (const item of values) if (isDocument(item)) setOrDelete(item, 'primary', undefined);
    document[name] = [...values, ...without(given, values)];
  }
}

const memberValue = (item: unknown): unknown => (item as Document | null)?.['value'];

function without(items: readonly unknown[], others: readonly unknown[]): unknown[] {
  const known = new Set(others.map(memberValue));
  return items.filter((item) => !known.has(memberValue(item)));
}

function asDocument(item: unknown, name: string): Document {
  if (isDocument(item)) return item;
  throw ScimErrors.SCIM_INVALID_VALUE({ message: `A value of ${name} must be an object.` });
}
