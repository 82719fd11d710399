import { hash } from 'node:crypto';

const MAX_CHARS = 64;

/** A key of bounded length, whatever it was made of. */
export const keyOf = (key: string): string => (key.length <= MAX_CHARS ? key : hash('sha256', key, 'base64url'));
