import type { PolicyVersion } from 'legate/client';

/**
 * Returns the version, of some that are the newest first, that brought a permission for a resource to the state before
 * a sequence. undefined: it is older than these versions.
 */
export function writerOf(versions: readonly PolicyVersion[], seq: number, resource: string): PolicyVersion | undefined {
  let writer: PolicyVersion | undefined;
  for (const version of versions) {
    const list = version.after['permissions'];
    if (version.seq >= seq || !Array.isArray(list)) continue;
    if (!list.some((one: { resource?: unknown }) => one.resource === resource)) return writer;
    writer = version;
  }
  // The oldest version read here may not be the first version with the permission.
  return versions.at(-1)?.version === 1 ? writer : undefined;
}
