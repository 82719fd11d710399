import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { ScimErrors } from './errors.ts';
import { attributeName, type Filter } from './filter.ts';

/** How an attribute is compared in the database. */
export type Column =
  | { readonly kind: 'text' | 'exact' | 'flag'; readonly ref: RawBuilder<unknown> }
  /** A multi-valued attribute: returns whether one of its values is `id`. */
  | { readonly kind: 'member'; readonly has: (id: string) => RawBuilder<SqlBool> };

export type Columns = Readonly<Record<string, Column>>;

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
    case 'some':
      return filterExpression(filter.filter, columns, `${filter.path}.`);
    case 'compare':
      return comparison(filter, columns, prefix);
  }
}

function comparison(
  { path, op, value }: Extract<Filter, { kind: 'compare' }>,
  columns: Columns,
  prefix: string,
): Expression<SqlBool> {
  const name = attributeName(prefix + path);
  const column = Object.hasOwn(columns, name) ? columns[name] : undefined;
  if (!column) throw invalid(`cannot compare the attribute ${name.slice(0, 100)}`);
  if (column.kind === 'member') {
    if (op !== 'eq' || typeof value !== 'string') throw invalid(`can only compare ${name} by eq with a string`);
    return column.has(value);
  }
  const { ref } = column;
  if (value === null) {
    if (op === 'eq') return sql<SqlBool>`(${ref} is null)`;
    return sql<SqlBool>`(${ref} is not null)`;
  }
  if (column.kind === 'flag') {
    if (typeof value !== 'boolean') throw invalid(`must compare ${name} with true or false`);
    return sql<SqlBool>`(${ref} = ${(op === 'eq') === value ? 1 : 0})`;
  }
  if (typeof value !== 'string') throw invalid(`must compare ${name} with a string`);
  const [left, right] =
    column.kind === 'exact'
      ? [ref, sql`cast(${value} as text)`]
      : [sql`lower(${ref})`, sql`lower(cast(${value} as text))`];
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

const invalid = (problem: string) => ScimErrors.SCIM_INVALID_FILTER({ message: `The filter ${problem}.` });
