import { validationFailed } from '../../kernel/errors.ts';
import { asId, type Id } from '../../kernel/ids.ts';

const KEYS = ['name', 'createdAt', 'lastDecisionAt', 'calls', 'refused'] as const;
type Key = (typeof KEYS)[number];

/** Values of `sort`: `-` in front for descending. */
export const SORTS = KEYS.flatMap((key): (Key | `-${Key}`)[] => [key, `-${key}`]);
export type Sort = (typeof SORTS)[number];

export const keyOf = (sort: Sort): Key => sort.replace('-', '') as Key;
export const isDescending = (sort: Sort): boolean => sort.startsWith('-');

/** The last agent of a page: where the next one begins. */
export interface Position {
  readonly value: string | number;
  readonly id: Id<'agent'>;
}

/** A cursor names its order, so that it is refused by a list in another one. */
export const cursorOf = (sort: Sort, { value, id }: Position): string =>
  Buffer.from(JSON.stringify([sort, value, id])).toString('base64url');

/** Throws 400 VALIDATION_FAILED for anything but a cursor of this order. */
export function positionOf(sort: Sort, cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined;
  const parsed = parse(Buffer.from(cursor, 'base64url').toString());
  if (Array.isArray(parsed) && parsed.length === 3 && parsed[0] === sort && typeof parsed[2] === 'string') {
    const [, value, id] = parsed;
    const ofSort = keyOf(sort) === 'name' ? isKey(value) : Number.isSafeInteger(value);
    if (ofSort && isKey(id)) return { value, id: asId('agent', id) };
  }
  throw validationFailed([{ path: 'cursor', message: 'is not a cursor of this list in this order' }]);
}

const isKey = (value: unknown): boolean =>
  typeof value === 'string' && value.isWellFormed() && !value.includes('\u0000');

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
