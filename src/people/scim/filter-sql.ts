import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { isoInstant } from '../../kernel/json.ts';
import { ScimErrors } from './errors.ts';
import { attributeName, type Filter } from './filter.ts';

/** How an attribute or sub-attribute with one value is compared in the database. A time is in milliseconds. */
export interface Column {
  readonly kind: 'text' | 'exact' | 'flag' | 'time';
  readonly ref: RawBuilder<unknown>;
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

/** Compiles a filter to an expression in which every value is a parameter. Throws 400 SCIM_INVALID_FILTER. */
export function filterExpression(filter: Filter, columns: Columns, prefix = ''): Expression<SqlBool> {
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

function compared(name: string, { kind, ref }: Column, { op, value }: Comparison): Expression<SqlBool> {
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
  const [left, right] =
    kind === 'exact' ? [ref, sql`cast(${value} as text)`] : [sql`lower(${ref})`, sql`lower(cast(${value} as text))`];
  if (op === 'eq') return sql<SqlBool>`(${left} is not null and ${left} = ${right})`;
  if (op === 'ne') return sql<SqlBool>`(${left} is null or ${left} <> ${right})`;
  if (value === '') return sql<SqlBool>`(${left} is not null)`;
  // LIKE of SQLite ignores case, which does not suit exact attributes.
  const contains =
    op === 'co'
      ? sql`replace(${left}, ${right}, '') <> ${left}`
      : sql`substr(${left}, 1, length(cast(${right} as text))) = ${right}`;
  return sql<SqlBool>`(${left} is not null and ${contains})`;
}

function atTime(name: string, ref: RawBuilder<unknown>, op: Comparison['op'], value: string): Expression<SqlBool> {
  // The database stores times as numbers, so there is no text that could contain the value or start with it.
  if (op === 'co' || op === 'sw') throw invalid(`can compare ${name} by eq and ne only`);
  const { data: at } = isoInstant.safeParse(value);
  if (at === undefined) throw invalid(`must compare ${name} with a date-time`);
  return op === 'eq' ? sql<SqlBool>`(${ref} = ${at})` : sql<SqlBool>`(${ref} <> ${at})`;
}

const invalid = (problem: string) => ScimErrors.SCIM_INVALID_FILTER({ message: `The filter ${problem}.` });
