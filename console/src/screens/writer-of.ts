import type { PolicyVersion } from 'legate/client';

/**
 * Returns the version, from a list that is newest first, in which a permission for a resource got the state that it had
 * before a sequence. Returns undefined if that version is older than the list.
 */
export function writerOf(versions: readonly PolicyVersion[], seq: number, resource: string): PolicyVersion | undefined {
  let writer: PolicyVersion | undefined;
  for (const version of versions) {
    const list = version.after['permissions'];
    if (version.seq >= seq || !Array.isArray(list)) continue;
    if (!list.some((one: { resource?: unknown }) => one.resource === resource)) return writer;
    writer = version;
  }
  // The oldest version in the list may not be the first one with the permission.
  return versions.at(-1)?.version === 1 ? writer : undefined;
}
