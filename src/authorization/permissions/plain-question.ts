import type { AuthorizeBody } from './routes.ts';

const MAX_CHARS: Readonly<Record<string, number>> = { agentId: 64, action: 128, resource: 512 };

/**
 * Recognises the common form of a question without the schema, which costs as much as the decision: short texts, and
 * arguments without nesting. Returns undefined if the schema has to decide. The schema accepts everything recognised
 * here unchanged; a property test compares the two.
 * @param json the text that `value` was parsed from, within the limit of the body
 */
export function parseSimpleAuthorize(json: string, value: unknown): AuthorizeBody | undefined {
  // Text without escapes contains neither NUL nor unpaired surrogates.
  if (json.includes('\\') || !isObject(value)) return undefined;
  for (const key in value) {
    const item = value[key];
    if (
      key === 'arguments'
        ? !isFlat(item)
        : typeof item !== 'string' || item === '' || !(item.length <= (MAX_CHARS[key] ?? -1))
    )
      return undefined;
  }
  return value['action'] !== undefined && value['resource'] !== undefined
    ? (value as unknown as AuthorizeBody)
    : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isFlat(value: unknown): boolean {
  if (!isObject(value)) return false;
  for (const key in value) {
    const item = value[key];
    if (typeof item === 'object' ? item !== null : typeof item === 'number' && !Number.isFinite(item)) return false;
  }
  return true;
}
