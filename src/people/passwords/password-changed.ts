/** `before` and `after` of an event about a new password: that there is one, and nothing of it. */
export const PASSWORD_CHANGED = { before: { password: 'set' }, after: { password: 'changed' } } as const;
