import { isCleanText } from '../../kernel/json.ts';

const MAX_ASSERTION_CHARS = 16_384;
const BASE64URL = /^[A-Za-z0-9_-]+$/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A signed JWT in compact form (RFC 7515, section 7.1), decoded once. Its signature is not verified yet. */
export interface Unverified {
  /** A text that the database can compare. */
  readonly issuer: string;
  /** In lower case, without `application/`, which changes nothing (RFC 7515, section 4.1.9). */
  readonly typ: string | undefined;
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The part that is signed. */
  readonly signed: string;
  readonly payload: string;
  readonly signature: string;
}

/** Returns the parts of a JWT; undefined if the text is not a signed JWT with an issuer, or longer than `maxChars`. */
export function readUnverified(text: string, maxChars = MAX_ASSERTION_CHARS): Unverified | undefined {
  if (text.length > maxChars) return undefined;
  const parts = text.split('.', 4);
  const [encoded, payload, signature] = parts as [string, string, string];
  if (parts.length !== 3 || !BASE64URL.test(signature)) return undefined;
  const header = decode(encoded);
  const claims = decode(payload);
  if (!header || !claims) return undefined;
  const { typ } = header;
  const { iss } = claims;
  if (typeof iss !== 'string' || !isCleanText(iss)) return undefined;
  if (typ !== undefined && typeof typ !== 'string') return undefined;
  return {
    issuer: iss,
    typ: typ?.toLowerCase().replace(/^application\//, ''),
    header,
    claims,
    signed: text.slice(0, encoded.length + 1 + payload.length),
    payload,
    signature,
  };
}

/** Returns the JSON object that a part of a JWT encodes. */
function decode(part: string): Record<string, unknown> | undefined {
  // One character more than whole bytes need is no encoding of any bytes.
  if (!BASE64URL.test(part) || part.length % 4 === 1) return undefined;
  try {
    const value: unknown = JSON.parse(utf8.decode(Buffer.from(part, 'base64url')));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
