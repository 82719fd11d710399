import type { Permission } from './schema.ts';

const isPermission = (value: unknown): value is Permission => {
  const { resource, actions } = (value ?? {}) as Partial<Record<keyof Permission, unknown>>;
  return typeof resource === 'string' && Array.isArray(actions);
};

/**
 * Returns the permissions that a column contains as JSON, to show them. If they were damaged in the database, returns
 * an empty list, so that no other agent or delegation becomes unreadable with them, and they can be revoked. Decisions
 * still fail, because `compileAgent` reads the column itself.
 */
export function storedPermissions({ permissions }: { readonly permissions: string }): Permission[] {
  try {
    const value: unknown = JSON.parse(permissions);
    return Array.isArray(value) && value.every(isPermission) ? value : [];
  } catch {
    return [];
  }
}
