/** `before` and `after` of an event about a new password: they only state that there is a password. */
export const PASSWORD_CHANGED = { before: { password: 'set' }, after: { password: 'changed' } } as const;
