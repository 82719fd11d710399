import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Principal } from '../../access/principal.ts';
import { validationFailed } from '../../kernel/errors.ts';
import type { Route } from '../../platform/route.ts';
import type { Platform } from '../../platform.ts';
import { isForm } from '../media-type.ts';
import type { Source } from '../sources/source.ts';

export const IDEMPOTENCY_KEY = 'idempotency-key';
export const MAX_KEY_CHARS = 255;

/**
 * Returns whether a route supports the header: every POST of this API does, except endpoints of protocols that
 * authenticate their callers themselves (OAuth, MCP), and forms of pages. SCIM takes it too: it has its own error
 * format, but the pipeline authenticates its callers.
 */
export const takesIdempotencyKey = ({ method, access, errorBody, page, form, responses }: Route<Platform>): boolean =>
  method === 'POST' &&
  !(errorBody && access === 'public') &&
  form !== 'only' &&
  (!page || Object.values(responses).some((answer) => answer instanceof z.ZodType));

/** The key of a request to such a route; null without one. Throws 400. */
export function idempotencyKeyOf(source: Source<unknown>): string | null {
  const key = source.header(IDEMPOTENCY_KEY);
  if (key === null || isForm(source.header('content-type'))) return null;
  if (key.length < 1 || key.length > MAX_KEY_CHARS)
    throw validationFailed([{ path: 'Idempotency-Key', message: `must have 1 to ${MAX_KEY_CHARS} characters` }]);
  return key;
}

/** A key is separate for each principal, method and path. */
export const scopeOf = (principal: Principal, ip: string | null, path: string, key: string): string =>
  digest(JSON.stringify([ownerOf(principal, ip), 'POST', path, key]));

/** Callers without a credential are distinguished by their address. */
function ownerOf(principal: Principal, ip: string | null): string {
  switch (principal.kind) {
    case 'anonymous':
      return `anonymous ${ip}`;
    case 'user':
      return principal.scopes === undefined ? `user ${principal.userId}` : `token ${principal.credentialId}`;
    case 'agent':
      return `agent ${principal.agentId}`;
    case 'accessToken':
      return `grant ${principal.grantId}`;
  }
}

/**
 * Digest of query, body and the key itself. Bodies may contain passwords; they cannot be guessed from it without the
 * key, of which only a digest is stored.
 */
export const fingerprintOf = (key: string, query: string, body: unknown): string =>
  digest(`${JSON.stringify([key, query])}${canonical(body)}`);

const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 32);

/** JSON with the members of every object in the order of their names. */
function canonical(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const members = value as Record<string, unknown>;
  let text = '';
  for (const name of Object.keys(members).sort())
    text += `${text === '' ? '' : ','}${quoted(name)}:${canonical(members[name])}`;
  return `{${text}}`;
}

/** Characters that JSON.stringify escapes. */
const ESCAPED = /["\\\p{Cc}\p{Surrogate}]/u;
/** JSON.stringify of a text, at a third of the cost for most texts. */
const quoted = (text: string): string => (ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`);
