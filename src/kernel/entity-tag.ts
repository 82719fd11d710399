import { createHash } from 'node:crypto';
import { CommonErrors, validationFailed } from './errors.ts';

interface Stored {
  readonly row: object;
  readonly volatile: readonly string[];
}

const storedOf = new WeakMap<object, Stored>();

/**
 * Remembers the row that `shown` represents, so that its version is known. Returns `shown`.
 *
 * @param volatile columns that change with mere use, such as counters. They do not change the tag
 */
export function versioned<T extends object>(shown: T, row: object, volatile: readonly string[] = []): T {
  storedOf.set(shown, { row, volatile });
  return shown;
}

/**
 * Returns the strong entity tag (RFC 9110, section 8.8.3) of a representation that {@link versioned} has seen: a hash
 * of the stored columns, so that every change of them changes the tag. Throws for any other object.
 */
export function entityTagOf(shown: object): string {
  const stored = storedOf.get(shown);
  if (!stored) throw new Error('A representation without a known row has no version.');
  const columns = Object.entries(stored.row)
    .filter(([name]) => !stored.volatile.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `"${createHash('sha256').update(JSON.stringify(columns)).digest('base64url').slice(0, 27)}"`;
}

/** The value of If-Match: any current representation, or one with a tag of this list. */
export type IfMatch = 'any' | readonly string[];

const ELEMENT = /[\t ]*(?:(W\/)?("[\x21\x23-\x7e\x80-\xff]*"))?[\t ]*(?:,|$)/y;

/**
 * Parses If-Match (RFC 9110, section 13.1.1). Throws 400 VALIDATION_FAILED for a value that is neither `*` nor a list
 * of entity tags.
 */
export function parseIfMatch(header: string): IfMatch {
  if (header.trim() === '*') return 'any';
  const tags: string[] = [];
  let found = false;
  for (ELEMENT.lastIndex = 0; ELEMENT.lastIndex < header.length; ) {
    const element = ELEMENT.exec(header);
    if (!element) throw notTags();
    const [, weak, tag] = element;
    found ||= tag !== undefined;
    // Comparison is strong, so that a weak tag matches nothing.
    if (tag !== undefined && weak === undefined) tags.push(tag);
  }
  if (!found) throw notTags();
  return tags;
}

const notTags = () => validationFailed([{ path: 'If-Match', message: 'must be * or a list of quoted entity tags' }]);

/** Throws 412 PRECONDITION_FAILED unless there is a current representation that is one of those expected. */
export function assertMatches(expected: IfMatch, current: object | undefined): void {
  if (current === undefined || (expected !== 'any' && !expected.includes(entityTagOf(current))))
    throw CommonErrors.PRECONDITION_FAILED();
}

/**
 * Parses If-None-Match (RFC 9110, section 13.1.2) of a PUT that must create something. Throws 400 VALIDATION_FAILED for
 * a value other than `*`.
 */
export function parseIfNoneMatch(header: string): true {
  if (header.trim() !== '*') throw validationFailed([{ path: 'If-None-Match', message: 'must be *' }]);
  return true;
}
