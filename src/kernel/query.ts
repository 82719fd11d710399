import { z } from 'zod';
import { validationFailed } from './errors.ts';
import { text, toIssues } from './json.ts';

/** The maximum number of values of one filter. */
const MAX_VALUES = 50;
const MAX_LIST_CHARS = 20_000;
const REPEATED = 'May be repeated to match any of several values.';

const repeatables = new WeakSet<z.ZodType>();

function repeatable<T extends z.ZodType>(schema: T): T {
  repeatables.add(schema);
  return schema;
}

/** Returns whether a query parameter may be repeated. Its value before parsing is then a list. */
export const isRepeated = (schema: unknown): boolean =>
  schema instanceof z.ZodOptional
    ? isRepeated(schema.unwrap())
    : schema instanceof z.ZodType && repeatables.has(schema);

/** A filter of a list. Repeated, it means any of its values (contract 17.14), of which there may be 50. */
export const anyOf = <T extends z.ZodType>(item: T, description?: string) =>
  repeatable(z.array(item).min(1).max(MAX_VALUES))
    .optional()
    .meta({ description: description === undefined ? REPEATED : `${description} ${REPEATED}` });

/**
 * Values separated by commas, at most `max` different ones. If the parameter is repeated, the lists are joined.
 * `expected` is the message for invalid values.
 */
export const commaList = <T extends string>(
  isItem: (text: string) => text is T,
  { max, expected, description }: { readonly max: number; readonly expected: string; readonly description: string },
) =>
  repeatable(
    z
      .array(text(MAX_LIST_CHARS))
      .min(1)
      .max(max)
      .transform((lists) => [...new Set(lists.flatMap((list) => list.split(',')).map((item) => item.trim()))])
      .refine(
        (items): items is T[] => items.length <= max && items.every((item) => item !== '' && isItem(item)),
        expected,
      )
      .meta({ description }),
  );

/** Throws 400 VALIDATION_FAILED for a range that ends before it begins. */
export function assertOrdered(range: {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}): void {
  const { since, until } = range;
  if (since !== undefined && until !== undefined && until < since)
    throw validationFailed([{ path: 'until', message: 'must not be before since' }]);
}

/** Like `parseWith`, for a query. Errors in values of a repeated parameter have the path of the parameter. */
export function parseQuery<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const shape: Readonly<Record<string, unknown>> = schema instanceof z.ZodObject ? schema.shape : {};
  const issues = toIssues(result.error).map(({ path, message }) => {
    const name = path.replace(/\.\d+$/, '');
    return { path: isRepeated(shape[name]) ? name : path, message };
  });
  throw validationFailed(issues);
}
