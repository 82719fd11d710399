import { isObject } from '../guard/json-rpc.ts';
import { encoded } from '../guard/mirrored-headers.ts';

const ANNOTATION = 'x-mcp-header';
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const MAX_DEPTH = 10;

/** Returns the headers `Mcp-Param-*` that repeat annotated arguments of a call (MCP 2026-07-28, Streamable HTTP). */
export function paramHeaders(schema: unknown, value: unknown, depth = 0): Record<string, string> {
  if (!isObject(schema) || depth > MAX_DEPTH) return {};
  const name = schema[ANNOTATION];
  if (typeof name === 'string' && TOKEN.test(name) && ['string', 'number', 'boolean'].includes(typeof value))
    return { [`mcp-param-${name.toLowerCase()}`]: encoded(String(value)) };
  const { properties } = schema;
  if (!isObject(properties) || !isObject(value)) return {};
  return Object.assign(
    {},
    ...Object.entries(properties).map(([member, of]) =>
      paramHeaders(of, Object.hasOwn(value, member) ? value[member] : undefined, depth + 1),
    ),
  );
}
