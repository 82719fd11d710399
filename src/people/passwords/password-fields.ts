import type { PasswordHash } from '../../kernel/secrets.ts';

interface PasswordFields {
  readonly before: { readonly password: 'set' | null };
  readonly after: { readonly password: 'set' | 'changed' };
}

/** Returns `before` and `after` of an event about a new password. They only state that there is a password. */
export const newPasswordFields = (replaced: PasswordHash | null): PasswordFields =>
  replaced === null
    ? { before: { password: null }, after: { password: 'set' } }
    : { before: { password: 'set' }, after: { password: 'changed' } };
