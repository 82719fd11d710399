import { hash } from 'node:crypto';

const MAX_CHARS = 64;

/** Returns a key of limited length. */
export const keyOf = (key: string): string => (key.length <= MAX_CHARS ? key : hash('sha256', key, 'base64url'));
