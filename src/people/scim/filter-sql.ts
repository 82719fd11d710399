import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { isoInstant } from '../../kernel/json.ts';
import { ScimErrors } from './errors.ts';
import { attributeName, type Filter, parseFilter } from './filter.ts';
import type { ListQuery } from './schema.ts';

/** How an attribute or sub-attribute with one value is compared in the database. A time is in milliseconds. */
export interface Column {
  readonly kind: 'text' | 'exact' | 'flag' | 'time';
  readonly ref: RawBuilder<unknown>;
  /** Only for `text`. */
  readonly key?: Key;
}

/**
 * The stored comparison form of a text, in which case is folded in all letters. lower() of SQLite, and of PostgreSQL
 * with the locale C, folds ASCII only: there, other letters of a text without a key must have the case of the filter.
 */
export interface Key {
  readonly ref: RawBuilder<unknown>;
  /** Returns the form of a value, as it is stored. */
  readonly of: (value: string) => string;
  /** Returns the form of a part of a value. */
  readonly ofPart: (part: string) => string;
}

/** A multi-valued attribute. */
interface Values {
  readonly kind: 'values';
  /** Its sub-attributes. The attribute itself is compared by `value`. */
  readonly columns: Readonly<Record<string, Column>>;
  /** Returns whether one of the values meets the condition. */
  readonly some: (condition: Expression<SqlBool>) => Expression<SqlBool>;
}

/** By name in lower case. */
export type Columns = Readonly<Record<string, Column | Values>>;

const find = <T>(columns: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(columns, name) ? columns[name] : undefined;

/** The number of rows, which PostgreSQL returns as a text. */
export const TOTAL = sql<number | string>`count(*)`.as('total');

/** Returns the condition of a list; always true without a filter. Throws 400 SCIM_INVALID_FILTER. */
export const matchesFilter = ({ filter }: ListQuery, columns: Columns): Expression<SqlBool> =>
  filter === undefined ? sql<SqlBool>`1 = 1` : filterExpression(parseFilter(filter), columns);

/** Compiles a filter to an expression in which every value is a parameter. Throws 400 SCIM_INVALID_FILTER. */
function filterExpression(filter: Filter, columns: Columns, prefix = ''): Expression<SqlBool> {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const left = filterExpression(filter.left, columns, prefix);
      const right = filterExpression(filter.right, columns, prefix);
      return filter.kind === 'and' ? sql<SqlBool>`(${left} and ${right})` : sql<SqlBool>`(${left} or ${right})`;
    }
    case 'not':
      return sql<SqlBool>`(not ${filterExpression(filter.filter, columns, prefix)})`;
    case 'some': {
      const values = find(columns, filter.path);
      return values?.kind === 'values'
        ? values.some(filterExpression(filter.filter, values.columns))
        : filterExpression(filter.filter, columns, `${filter.path}.`);
    }
    case 'compare':
      return comparison(filter, columns, prefix);
  }
}

type Comparison = Extract<Filter, { kind: 'compare' }>;

/** A multi-valued attribute matches if one of its values does (RFC 7644, section 3.4.2.2). */
function comparison(filter: Comparison, columns: Columns, prefix: string): Expression<SqlBool> {
  const name = attributeName(prefix + filter.path);
  const column = find(columns, name);
  if (column && column.kind !== 'values') return compared(name, column, filter);
  const [attribute = '', sub = 'value', ...more] = name.split('.');
  const values = find(columns, attribute);
  const part = values?.kind === 'values' && more.length === 0 ? find(values.columns, sub) : undefined;
  // meta.version is a digest of the whole resource, which the database does not have.
  if (values?.kind !== 'values' || !part) throw invalid(`cannot compare the attribute ${name.slice(0, 100)}`);
  if (filter.value !== null) return values.some(compared(name, part, filter));
  // An attribute without values is null (RFC 7643, section 2.5).
  const isAssigned = values.some(compared(name, part, { ...filter, op: 'ne' }));
  return filter.op === 'ne' ? isAssigned : sql<SqlBool>`(not ${isAssigned})`;
}

function compared(name: string, { kind, ref, key }: Column, { op, value }: Comparison): Expression<SqlBool> {
  if (value === null) {
    if (op === 'eq') return sql<SqlBool>`(${ref} is null)`;
    return sql<SqlBool>`(${ref} is not null)`;
  }
  if (kind === 'flag') {
    if (typeof value !== 'boolean') throw invalid(`must compare ${name} with true or false`);
    return sql<SqlBool>`(${ref} = ${(op === 'eq') === value ? 1 : 0})`;
  }
  if (typeof value !== 'string') throw invalid(`must compare ${name} with a string`);
  if (kind === 'time') return atTime(name, ref, op, value);
  const sides: Sides = kind === 'exact' ? [ref, textOf(value)] : [sql`lower(${ref})`, sql`lower(${textOf(value)})`];
  if (op === 'eq' || op === 'ne') {
    const [left, right] = key ? [key.ref, textOf(key.of(value))] : sides;
    return op === 'eq'
      ? sql<SqlBool>`(${left} is not null and ${left} = ${right})`
      : sql<SqlBool>`(${left} is null or ${left} <> ${right})`;
  }
  if (value === '') return sql<SqlBool>`(${ref} is not null)`;
  // A key may differ from the text in more than case, so a part may also be one of the text as it is shown.
  return key
    ? sql<SqlBool>`(${hasPart(op, [key.ref, textOf(key.ofPart(value))])} or ${hasPart(op, sides)})`
    : hasPart(op, sides);
}

/** A column and the value that it is compared with. */
type Sides = readonly [RawBuilder<unknown>, RawBuilder<unknown>];

const textOf = (value: string): RawBuilder<unknown> => sql`cast(${value} as text)`;

/** LIKE of SQLite ignores case, which does not suit exact attributes. */
const hasPart = (op: 'co' | 'sw', [left, right]: Sides): Expression<SqlBool> =>
  op === 'co'
    ? sql<SqlBool>`(${left} is not null and replace(${left}, ${right}, '') <> ${left})`
    : sql<SqlBool>`(${left} is not null and substr(${left}, 1, length(${right})) = ${right})`;

function atTime(name: string, ref: RawBuilder<unknown>, op: Comparison['op'], value: string): Expression<SqlBool> {
  // The database stores times as numbers, so there is no text that could contain the value or start with it.
  if (op === 'co' || op === 'sw') throw invalid(`can compare ${name} by eq and ne only`);
  const { data: at } = isoInstant.safeParse(value);
  if (at === undefined) throw invalid(`must compare ${name} with a date-time`);
  return op === 'eq' ? sql<SqlBool>`(${ref} = ${at})` : sql<SqlBool>`(${ref} <> ${at})`;
}

const invalid = (problem: string) => ScimErrors.SCIM_INVALID_FILTER({ message: `The filter ${problem}.` });
