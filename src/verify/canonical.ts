import { hash } from 'node:crypto';

/** The file is not what it claims: exit code 1. */
export class Refuted extends Error {}
/** The result is undecidable, or the command line is wrong: exit code 2. */
export class Undecidable extends Error {}

export function refuse(reason: string): never {
  throw new Refuted(reason);
}

/** Bytes of a SHA-256 hash. */
export const HASH = 32;

/** One call with a text as its result takes half the time of a Hash object. */
export const sha256 = (data: string | Uint8Array): Buffer => Buffer.from(hash('sha256', data, 'binary'), 'latin1');

export function base64(text: string, what: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) refuse(`${what} is not canonical base64.`);
  return bytes;
}

export function hashOf(text: string, what: string): Buffer {
  const bytes = base64(text, what);
  if (bytes.length !== HASH) refuse(`${what} is not a SHA-256 hash.`);
  return bytes;
}

/** Reads a list of SHA-256 hashes in base64 from JSON. */
export function hashList(value: unknown, what: string): Buffer[] {
  if (!Array.isArray(value)) return refuse(`${what} is not in a list.`);
  return value.map((each) => (typeof each === 'string' ? hashOf(each, what) : refuse(`${what} is not a text.`)));
}

export function decimal(text: string, what: string): number {
  if (!/^(0|[1-9]\d{0,15})$/.test(text) || !Number.isSafeInteger(Number(text)))
    refuse(`${what} is not a canonical decimal number.`);
  return Number(text);
}

/** Control characters other than newline, and characters that terminals treat as such. */
export const CONTROL = /(?!\n)[\p{Cc}\u2028\u2029]/u;

/** Parses JSON in compact form, without repeated names. */
export function canonicalJson(text: string, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {}
  if (typeof value !== 'object' || value === null || JSON.stringify(value) !== text)
    return refuse(`${what} is not canonical JSON.`);
  return value as Record<string, unknown>;
}

export function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse('The file is not UTF-8.');
  }
}
