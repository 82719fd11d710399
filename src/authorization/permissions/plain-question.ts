import { isIP } from 'node:net';
import type { AuthorizeBody } from './authorize-body.ts';
import type { AuthorizeInput } from './question.ts';

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

/** Characters of the arguments together. In JSON and UTF-8 each has at most six bytes. */
const MAX_ARGUMENT_CHARS = 10_000;
const MAX_USER_AGENT_CHARS = 512;

/**
 * Returns whether a question from this process has the same common form, so that the schema would accept it unchanged.
 * A property test compares the two.
 */
export function isPlainQuestion({ agentId, action, resource, arguments: args, context }: CallQuestion): boolean {
  if (!isShort(agentId, 64) || !isShort(action, 128) || !isShort(resource, 512)) return false;
  if (context?.ip !== undefined && isIP(context.ip) === 0) return false;
  if (context?.userAgent !== undefined && !isShort(context.userAgent, MAX_USER_AGENT_CHARS)) return false;
  if (args === undefined) return true;
  if (!isFlat(args)) return false;
  let chars = 0;
  for (const key in args) {
    const item = args[key];
    chars += key.length + 30;
    if (typeof item === 'string') chars += item.length;
    if (UNCLEAN.test(key) || (typeof item === 'string' && UNCLEAN.test(item))) return false;
  }
  return chars <= MAX_ARGUMENT_CHARS;
}

type CallQuestion = Pick<AuthorizeInput, 'agentId' | 'action' | 'resource' | 'arguments' | 'context'>;

/** NUL, and surrogates, which may be unpaired. */
const UNCLEAN = /[\0\ud800-\udfff]/;

const isShort = (value: unknown, max: number): boolean =>
  typeof value === 'string' && value !== '' && value.length <= max && !UNCLEAN.test(value);

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
