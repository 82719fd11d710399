/** Scopes that a broader scope includes. */
const HIERARCHY: Readonly<Record<string, readonly string[]>> = { 'mcp:execute': ['mcp:read'] };

/** Returns the required scopes that are not granted, neither by name nor by a broader scope, transitively. */
export function missingScopes(
  granted: readonly string[],
  needed: readonly string[],
  hierarchy: Readonly<Record<string, readonly string[]>> = HIERARCHY,
): string[] {
  if (needed.every((scope) => granted.includes(scope))) return [];
  const held = new Set(granted);
  // The set grows during the iteration.
  for (const scope of held)
    if (Object.hasOwn(hierarchy, scope)) for (const narrower of hierarchy[scope] ?? []) held.add(narrower);
  return needed.filter((scope) => !held.has(scope));
}
